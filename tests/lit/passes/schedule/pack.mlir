// RUN: inarch-opt %s -p 'pack{nest=dense operand=w iterators=no,k,ni}' --verify-semantics | filecheck %s
// RUN: inarch-opt %s -p 'pack{nest=dense operand=0 iterators=k,m}' --verify-semantics | filecheck %s --check-prefix=TURNED
// RUN: not inarch-opt %s -p 'pack{nest=dense operand=w iterators=no,k}' 2>&1 | filecheck %s --check-prefix=MISSING

func.func @main(%x: memref<8x24xf32>, %w: memref<24x32xf32>, %y: memref<8x32xf32> {inarch.result}) {
  loop.nest (no = 2, m = 8, k = 24 reduction, ni = 16 vector) ins(%x[m, k] : memref<8x24xf32>, %w[k, no * 16 + ni] : memref<24x32xf32>) outs(%y[m, no * 16 + ni] init 0.0 : memref<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  } loc("dense")
  func.return
}
// CHECK: kernel.pack %w[d1, d0 * 16 + d2] to %w_1[d0, d1, d2] : memref<24x32xf32>, memref<2x24x16xf32>
// CHECK: %w_1[no, k, ni] : memref<2x24x16xf32>) {{.*}} {inarch.keep}
// TURNED: kernel.pack %x[d1, d0] to %x_1[d0, d1] : memref<8x24xf32>, memref<24x8xf32>
// TURNED: ins(%x_1[k, m] : memref<24x8xf32>
// MISSING: error: pack: expected all iterators that w varies with, also ni, found no k
