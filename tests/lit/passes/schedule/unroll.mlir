// RUN: inarch-opt %s -p 'unroll{nest=scale iterator=v}' --verify-semantics | filecheck %s
// RUN: inarch-opt %s -p 'unroll{nest=scale iterator=v}' -t c | filecheck %s --check-prefix=C
// RUN: inarch-opt %s -p 'unroll{nest=loop iterator=j}' --verify-semantics | filecheck %s --check-prefix=LOOP
// RUN: not inarch-opt %s -p 'unroll{nest=scale iterator=i}' 2>&1 | filecheck %s --check-prefix=MANY
// RUN: not inarch-opt %s -p 'unroll{nest=loop iterator=i}' 2>&1 | filecheck %s --check-prefix=COPIES
// RUN: not inarch-opt %s -p 'unroll{nest=sums iterator=k}' 2>&1 | filecheck %s --check-prefix=SCAN

func.func @main(%x: memref<2000x3xf32>, %y: memref<2000x3xf32> {inarch.result}) {
  loop.nest (i = 2000, v = 3) ins(%x[i, v] : memref<2000x3xf32>) outs(%y[i, v] : memref<2000x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  } loc("scale")
  // CHECK: loop.nest (i = 2000, v = 3 unroll)
  // C: for (int64_t i = 0; i < 2000; i++) {
  // C-NOT: for
  // C: y[i * 3] = acc_0;
  // C: y[i * 3 + 1] = acc_1;
  // C: y[i * 3 + 2] = acc_2;
  // MANY: scale: error: unroll: expected at most 1024 copies, found i = 2000; split it first
  loop.for %i = 0 to 2000 {
    loop.for %j = 0 to 3 {
      %v = memref.load %x[%i, %j] : memref<2000x3xf32>
      memref.store %v, %y[%i, %j] : memref<2000x3xf32>
      loop.yield
    }
    loop.yield
  } loc("loop")
  // LOOP: loop.for %i = 0 to 2000 {
  // LOOP-NEXT: loop.for %j = 0 to 3 unroll {
  // COPIES: loop: error: unroll: expected at most 1024 copies of the body of i, found 2000; split i first
  loop.nest (v = 3, k = 9 scan) ins(%x[k, v] : memref<2000x3xf32>) outs(%y[k, v] init 0.0 : memref<2000x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    loop.yield %r : f32
  } loc("sums")
  // SCAN: sums: error: unroll: expected a parallel iterator or a reduction, found a scan: iteration k = 1 goes on from what k = 0 has accumulated
  func.return
}
