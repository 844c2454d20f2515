// RUN: inarch-opt %s -p 'interchange{nest=pool order=kh,oh}' --verify-semantics | filecheck %s
// RUN: inarch-opt %s -p 'interchange{nest=pool order=kw,kh}' --verify-semantics | filecheck %s --check-prefix=MAX
// RUN: not inarch-opt %s -p 'interchange{nest=sum order=kw,kh}' 2>&1 | filecheck %s --check-prefix=SUM
// RUN: inarch-opt %s -p 'interchange{nest=sum order=kw,kh reassociate=true}' --verify-semantics | filecheck %s --check-prefix=ANY
// RUN: not inarch-opt %s -p 'parallelize{nest=pool iterator=oh},interchange{nest=pool order=kh,oh}' 2>&1 | filecheck %s --check-prefix=SHARED
// RUN: inarch-opt %s -p 'interchange{nest=loops order=j,i}' --verify-semantics | filecheck %s --check-prefix=LOOPS
// RUN: not inarch-opt %s -p 'interchange{nest=skewed order=j,i}' 2>&1 | filecheck %s --check-prefix=SKEWED
// RUN: not inarch-opt %s -p 'interchange{nest=triangle order=j,i}' 2>&1 | filecheck %s --check-prefix=TRIANGLE
// RUN: inarch-opt %s -p 'interchange{nest=one order=kw,kh}' --verify-semantics | filecheck %s --check-prefix=ONE
// RUN: not inarch-opt %s -p 'interchange{nest=first order=j,i}' 2>&1 | filecheck %s --check-prefix=FIRST
// RUN: inarch-opt %s -p 'interchange{nest=deep order=j,i}' | filecheck %s --check-prefix=DEEP
// RUN: inarch-opt %s -p 'interchange{nest=calls order=q,p}' | filecheck %s --check-prefix=CALLS

func.func @main(%x: memref<9x9xf32>, %y: memref<7x7xf32> {inarch.result}, %z: memref<9x9xf32> {inarch.result}) {
  loop.nest (oh = 7, ow = 7, kh = 3 reduction, kw = 3 reduction) ins(%x[oh + kh, ow + kw] : memref<9x9xf32>) outs(%y[oh, ow] init -inf : memref<7x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %o : f32
    loop.yield %r : f32
  } loc("pool")
  // CHECK: loop.nest (kh = 3 reduction, ow = 7, oh = 7, kw = 3 reduction) ins(%x[kh + oh, ow + kw]
  // MAX: loop.nest (oh = 7, ow = 7, kw = 3 reduction, kh = 3 reduction)
  // SHARED: pool: error: interchange: expected oh, whose iterations threads share, outside of kh, whose iterations one thread adds up, found it inside; interchange before parallelize

  loop.nest (oh = 7, ow = 7, kh = 3 reduction, kw = 3 reduction) ins(%x[oh + kh, ow + kw] : memref<9x9xf32>) outs(%y[oh, ow] init 0.0 : memref<7x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    loop.yield %r : f32
  } loc("sum")
  // SUM: sum: error: interchange: expected the sum over kh, kw in its order, in which (kh = 0, kw = 1) adds to its accumulator before (kh = 1, kw = 0), found kw outside of kh; write 'reassociate' where another rounding is wanted
  // ANY: loop.nest (oh = 7, ow = 7, kw = 3 reduction, kh = 3 reduction) {{.*}} init 0.0

  loop.for %i = 0 to 9 {
    loop.for %j = 0 to 8 step 2 {
      %k = arith.constant 2.0 : f32
      %v = memref.load %x[%i, %j] : memref<9x9xf32>
      %w = arith.mulf %v, %k : f32
      memref.store %w, %z[%i, %j] : memref<9x9xf32>
      loop.yield
    }
    loop.yield
  } loc("loops")
  // LOOPS: loop.for %j = 0 to 8 step 2 {
  // LOOPS-NEXT: loop.for %i = 0 to 9 {
  // LOOPS-NEXT: arith.constant 2
  // LOOPS-NEXT: memref.load %x[%i, %j]

  loop.for %i = 0 to 8 {
    loop.for %j = 1 to 9 {
      %n = arith.constant 1 : index
      %up = arith.addi %i, %n : index
      %left = arith.subi %j, %n : index
      %v = memref.load %z[%i, %j] : memref<9x9xf32>
      memref.store %v, %z[%up, %left] : memref<9x9xf32>
      loop.yield
    }
    loop.yield
  } loc("skewed")
  // SKEWED: skewed: error: interchange: expected independent iterations of i, which is to go inside of j, found a {{.*}} of %z[%i{{.*}}] where %i = 0 and a {{.*}} of %z[%i{{.*}}] where %i = 1, of one element

  loop.for %g = 0 to 3 {
    loop.for %i = 0 to 9 {
      loop.for %j = 0 to %i {
        %v = memref.load %x[%i, %j] : memref<9x9xf32>
        memref.store %v, %z[%i, %j] : memref<9x9xf32>
        loop.yield
      }
      loop.yield
    }
    loop.yield
  } loc("triangle")
  // TRIANGLE: triangle: error: interchange: expected bounds of j that do not depend on i, which is to go inside, found computed ones that do

  // A sum over one iteration has no order.
  loop.nest (oh = 7, ow = 7, kh = 1 reduction, kw = 3 reduction) ins(%x[oh + kh, ow + kw] : memref<9x9xf32>) outs(%y[oh, ow] init 0.0 : memref<7x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    loop.yield %r : f32
  } loc("one")
  // ONE: loop.nest (oh = 7, ow = 7, kw = 3 reduction, kh = 1 reduction)

  // A load does not move into the inner loop, which may store to its element.
  loop.for %i = 0 to 9 {
    %v = memref.load %z[%i, %i] : memref<9x9xf32>
    loop.for %j = 0 to 9 {
      %w = memref.load %z[%i, %j] : memref<9x9xf32>
      %s = arith.addf %w, %v : f32
      memref.store %s, %z[%i, %j] : memref<9x9xf32>
      loop.yield
    }
    loop.yield
  } loc("first")
  // FIRST: error: interchange: no loop 'j' in those that stand in each other alone. Known: i

  // An invariant bound leaves all loops, however deep it is.
  %c = arith.constant 3 : index
  loop.for %i = 0 to 9 {
    loop.for %j = 0 to 8 {
      %e = arith.addi %c, %c : index
      loop.for %k = 0 to %e {
        %v = memref.load %x[%i, %j] : memref<9x9xf32>
        memref.store %v, %z[%i, %j] : memref<9x9xf32>
        loop.yield
      }
      loop.yield
    }
    loop.yield
  } loc("deep")
  // DEEP: %e = arith.addi %c, %c : index
  // DEEP-NEXT: loop.for %j{{.*}} = 0 to 8 {
  // DEEP-NEXT: loop.for %i{{.*}} = 0 to 9 {
  // DEEP-NEXT: loop.for %k{{.*}} = 0 to %e {

  // The callee only reads %x.
  loop.for %p = 0 to 9 {
    loop.for %q = 0 to 9 {
      %t = memref.subview %z[%p, %q] [1, 1] [1, 1] : memref<9x9xf32> to memref<1x1xf32, strided<[9, 1], offset: ?>>
      func.call @copy(%x, %t) : (memref<9x9xf32>, memref<1x1xf32, strided<[9, 1], offset: ?>>) -> ()
      loop.yield
    }
    loop.yield
  } loc("calls")
  // CALLS: loop.for %q = 0 to 9 {
  // CALLS-NEXT: loop.for %p = 0 to 9 {
  // CALLS-NEXT: memref.subview %z[%p, %q]
  func.return
}

func.func private @copy(%a: memref<9x9xf32>, %b: memref<1x1xf32, strided<[9, 1], offset: ?>>) {
  loop.nest (i = 1, j = 1) ins(%a[i, j] : memref<9x9xf32>) outs(%b[i, j] : memref<1x1xf32, strided<[9, 1], offset: ?>>) {
  ^bb0(%u: f32, %o: f32):
    loop.yield %u : f32
  }
  func.return
}
