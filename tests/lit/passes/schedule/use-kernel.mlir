// RUN: inarch-opt %s -p 'use-kernel{nest=dense kernel=gemm-f32}' --verify-semantics | filecheck %s
// RUN: not inarch-opt %s -p 'use-kernel{nest=neg kernel=gemm-f32}' 2>&1 | filecheck %s --check-prefix=BODY
// RUN: not inarch-opt %s -p 'use-kernel{nest=kept kernel=gemm-f32}' 2>&1 | filecheck %s --check-prefix=KEPT
// RUN: not inarch-opt %s -p 'use-kernel{nest=dense kernel=""}' 2>&1 | filecheck %s --check-prefix=NONE

module attributes {inarch.target = "x86-64-v3"} {
func.func @main(%x: memref<8x24xf32>, %w: memref<24x32xf32>, %y: memref<8x32xf32> {inarch.result}) {
  %t = loop.alloc : memref<8x32xf32>
  loop.nest (m = 8, n = 32, k = 24 reduction) ins(%x[m, k] : memref<8x24xf32>, %w[k, n] : memref<24x32xf32>) outs(%t[m, n] init 0.0 : memref<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  } loc("dense")
  // CHECK: kernel.call @gemm_f32_{{.*}} %t
  // CHECK: loop.nest (m = 8, n = 32)
  loop.nest (m = 8, n = 32) ins(%t[m, n] : memref<8x32xf32>) outs(%y[m, n] : memref<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  } loc("neg")
  // BODY: neg: error: use-kernel: expected a nest that microkernel 'gemm-f32' does, found that the body is y = -t, the meaning
  loop.nest (m = 8, n = 32) ins(%t[m, n] : memref<8x32xf32>) outs(%y[m, n] : memref<8x32xf32>) attributes {inarch.keep} {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  } loc("kept")
  // KEPT: kept: error: use-kernel: expected a nest that microkernel 'gemm-f32' does, found that the nest's schedule is its author's (inarch.keep)
  func.return
}
}
// NONE: error: use-kernel: expected a microkernel, found none
