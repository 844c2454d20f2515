// RUN: inarch-opt %s -p 'split{nest=add iterator=i factor=64}' --verify-semantics | filecheck %s
// RUN: inarch-opt %s -p 'split{nest=add iterator=i factor=64},parallelize{nest=add iterator=io}' -t c | filecheck %s --check-prefix=C
// RUN: inarch-opt %s -p 'split{nest=loop iterator=i factor=64 names=block,lane}' --verify-semantics | filecheck %s --check-prefix=LOOP
// RUN: inarch-opt %s -p 'split{nest=loop iterator=i factor=25}' --verify-semantics | filecheck %s --check-prefix=EVEN
// RUN: not inarch-opt %s -p 'split{nest=sum iterator=k factor=64}' 2>&1 | filecheck %s --check-prefix=SUM
// RUN: not inarch-opt %s -p 'split{nest=part iterator=i factor=64}' 2>&1 | filecheck %s --check-prefix=PART
// RUN: not inarch-opt %s -p 'split{nest=add iterator=i factor=0}' 2>&1 | filecheck %s --check-prefix=ZERO
// RUN: not inarch-opt %s -p 'split{nest=comb iterator=j factor=2}' 2>&1 | filecheck %s --check-prefix=SHARED
// RUN: inarch-opt %s -p 'split{nest=row iterator=j factor=4}' --verify-semantics | filecheck %s --check-prefix=CLIPS
// RUN: inarch-opt %s -p 'split{nest=row iterator=j factor=5}' --verify-semantics | filecheck %s --check-prefix=FITS

// T20: C[i] = A[i] + B[i] in blocks of 64; behind the last element nothing is read, and nothing written.
func.func @main(%a: memref<100xf32>, %b: memref<100xf32>, %c: memref<100xf32> {inarch.result}, %s: memref<1xf32> {inarch.result}) {
  loop.nest (i = 100) ins(%a[i] : memref<100xf32>, %b[i] : memref<100xf32>) outs(%c[i] : memref<100xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %z = arith.addf %x, %y : f32
    loop.yield %z : f32
  } loc("add")
  // CHECK: loop.nest (io = 2, ii = 64) ins(%a[io * 64 + ii] pad 0.0 : memref<100xf32>, %b[io * 64 + ii] pad 0.0 : memref<100xf32>) outs(%c[io * 64 + ii] clip : memref<100xf32>) attributes {inarch.keep}
  // C: for (int64_t io = 0; io < 2; io++) {
  // C-NEXT: const int64_t ii_end = (100 - io * 64) < 64 ? 100 - io * 64 : 64;
  // C-NEXT: for (int64_t ii = 0; ii < ii_end; ii++) {
  // C-NEXT: c[io * 64 + ii] = a[io * 64 + ii] + b[io * 64 + ii];

  loop.for %i = 0 to 100 {
    %x = memref.load %a[%i] : memref<100xf32>
    memref.store %x, %c[%i] : memref<100xf32>
    loop.yield
  } loc("loop")
  // LOOP: loop.for %block = 0 to 2 {
  // LOOP-NEXT: loop.for %lane = 0 to 64 {
  // LOOP: %inside = arith.cmpi slt, %i, %{{[0-9]+}} : index
  // LOOP-NEXT: scf.if %inside {
  // LOOP-NEXT: memref.load %a[%i]
  // LOOP: } {inarch.keep}
  // EVEN: loop.for %io = 0 to 4 {
  // EVEN-NEXT: loop.for %ii = 0 to 25 {
  // EVEN-NOT: scf.if

  loop.nest (k = 100 reduction) ins(%a[k] : memref<100xf32>) outs(%s[0] init 0.0 : memref<1xf32>) {
  ^bb0(%x: f32, %o: f32):
    %z = arith.addf %x, %o : f32
    loop.yield %z : f32
  } loc("sum")
  // SUM: sum: error: split: expected a factor that divides the 100 points of k, a reduction, which takes no guard, found 64; take 50

  loop.nest (i = 90) ins(%a[i] : memref<100xf32>) outs(%c[i + 5] : memref<100xf32>) {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  } loc("part")
  // PART: part: error: split: expected a factor that divides the 90 points of i, as points behind the last one would write others of output 0, found 64; take 45
  // ZERO: error: split: expected a factor from 1 on, found 0

  loop.for %i = 0 to 10 parallel {
    %ten = arith.constant 10 : index
    %at = arith.muli %i, %ten : index
    %u = memref.subview %a[%at] [10] [1] : memref<100xf32> to memref<10xf32, strided<[1], offset: ?>>
    %v = memref.subview %c[%at] [10] [1] : memref<100xf32> to memref<10xf32, strided<[1], offset: ?>>
    loop.nest (j = 10) ins(%u[j] : memref<10xf32, strided<[1], offset: ?>>) outs(%v[j] : memref<10xf32, strided<[1], offset: ?>>) {
    ^bb0(%x: f32, %o: f32):
      loop.yield %x : f32
    } loc("row")
    loop.yield
  }
  // A clipped write stays in its view, which is each iteration's own.
  // CLIPS: loop.for %{{.*}} = 0 to 10 parallel {
  // CLIPS: loop.nest (jo = 3, ji = 4) ins(%u[jo * 4 + ji] pad 0.0 : {{.*}}) outs(%v[jo * 4 + ji] clip :
  // FITS: loop.for %{{.*}} = 0 to 10 parallel {
  // FITS: loop.nest (jo = 2, ji = 5)

  // The teeth of two combs: which elements of its view a clipped one touches is not followed.
  loop.for %i = 0 to 2 parallel {
    %v = memref.subview %c[%i] [13] [1] : memref<100xf32> to memref<13xf32, strided<[1], offset: ?>>
    loop.nest (j = 3, k = 2) outs(%v[j * 5 + k * 2] : memref<13xf32, strided<[1], offset: ?>>) {
    ^bb0(%o: f32):
      loop.yield %o : f32
    } loc("comb")
    loop.yield
  }
  // SHARED: comb: error: split: expected independent iterations of i around it, found a write of %v[jo * 10 + ji * 5 + k * 2] and a write of %v[jo * 10 + ji * 5 + k * 2], which cannot be shown to be of different elements in different iterations
  func.return
}
