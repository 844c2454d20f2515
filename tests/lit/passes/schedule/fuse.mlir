// RUN: inarch-opt %s -p 'fuse{nest=neg iterators=i blocks=3 producers=dense}' --verify-semantics | filecheck %s
// RUN: inarch-opt %s -p 'fuse{nest=dense iterators=n,m blocks=4,2}' --verify-semantics | filecheck %s --check-prefix=ALONE
// RUN: not inarch-opt %s -p 'fuse{nest=neg iterators=j blocks=3 producers=shift}' 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: not inarch-opt %s -p 'fuse{nest=shift iterators=i blocks=3 producers=neg}' 2>&1 | filecheck %s --check-prefix=SHIFT
// RUN: not inarch-opt %s -p 'fuse{nest=dense iterators=k blocks=3}' 2>&1 | filecheck %s --check-prefix=SUM
// RUN: not inarch-opt %s -p 'fuse{nest=last iterators=i blocks=3 producers=neg}' 2>&1 | filecheck %s --check-prefix=BETWEEN
// RUN: not inarch-opt %s -p 'fuse{nest=turned iterators=i blocks=3 producers=last}' 2>&1 | filecheck %s --check-prefix=TURNED

func.func @main(%x: memref<7x5xf32>, %w: memref<5x8xf32>, %y: memref<7x8xf32> {inarch.result}, %z: memref<7x8xf32> {inarch.result}, %q: memref<8x7xf32> {inarch.result}) {
  %t = loop.alloc : memref<7x8xf32>
  loop.nest (m = 7, n = 8, k = 5 reduction) ins(%x[m, k] : memref<7x5xf32>, %w[k, n] : memref<5x8xf32>) outs(%t[m, n] init 0.0 : memref<7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  } loc("dense")
  loop.nest (i = 7, j = 8) ins(%t[i, j] : memref<7x8xf32>) outs(%y[i, j] : memref<7x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  } loc("neg")
  // CHECK: loop.for %io = 0 to 6 step 3 {
  // CHECK-NEXT: %t = loop.alloc : memref<3x8xf32>
  // CHECK: loop.nest (m = 3, n = 8, k = 5 reduction)
  // CHECK: loop.nest (i = 3, j = 8)
  // CHECK: } {inarch.keep}
  // CHECK: loop.for %io_1 = 6 to 7 {
  // CHECK: } {inarch.keep}
  // ALONE: loop.for %no = 0 to 8 step 4 {
  // ALONE: loop.for %mo = 0 to 6 step 2 {
  // ALONE: loop.nest (m = 2, n = 4, k = 5 reduction)
  // ALONE: loop.for %mo_1 = 6 to 7 {
  // SUM: dense: error: fuse: expected a parallel iterator of several points, found k, a reduction

  loop.nest (i = 7, j = 8) ins(%y[i - 1, j] pad 0.0 : memref<7x8xf32>) outs(%z[i, j] : memref<7x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  } loc("shift")
  // SHIFT: shift: error: fuse: expected iterations of i that touch what they write themselves, found that i = 1 reads %y[0, 0], which the producer writes at i = 0
  // ORDER: error: fuse: expected producers in the program's order, and before their consumer
  loop.nest (i = 7, j = 8) ins(%y[i, j] : memref<7x8xf32>, %z[i, j] : memref<7x8xf32>) outs(%z[i, j] : memref<7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    loop.yield %r : f32
  } loc("last")
  // BETWEEN: neg: error: fuse: expected a producer that moves down to its consumer, found 'loop.nest' between, which uses %y, which it writes; fuse it, too
  loop.nest (i = 7, j = 7) ins(%z[j, i] : memref<7x8xf32>) outs(%q[i, j] : memref<8x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  } loc("turned")
  // TURNED: turned: error: fuse: expected as many points of i as its partner has, found 7, and 8 of j of the producer, which goes with it
  func.return
}
