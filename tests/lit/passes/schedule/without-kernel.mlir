// RUN: inarch-opt %s -p 'without-kernel{nest=dense kernel=gemm-f32},tensorize{kernels=gemm-f32}' | filecheck %s
// RUN: inarch-opt %s -p 'tensorize{kernels=gemm-f32}' | filecheck %s --check-prefix=BOTH
// RUN: inarch-opt %s -p 'without-kernel{nest=dense kernel=gemm-f32},tensorize' --verify-semantics | filecheck %s --check-prefix=OTHER
// RUN: not inarch-opt %s -p 'without-kernel{nest=dense kernel=gem-f33}' 2>&1 | filecheck %s --check-prefix=NAME

module attributes {inarch.target = "x86-64-v3"} {
// The one nest is left to others, the other one like it is not.
// CHECK-LABEL: @main
// CHECK-NOT: kernel.call
// CHECK: loop.nest (m = 8, n = 32, k = 24 reduction) {{.*}}%t[m, n]
// CHECK: kernel.call @gemm_f32_{{.*}} %y
// BOTH: kernel.call @gemm_f32_{{.*}} %t
// BOTH: kernel.call @gemm_f32_{{.*}} %y
// OTHER: kernel.call @{{(conv|outer)[a-z_]*_f32}}{{.*}} %t
// NAME: error: without-kernel: no microkernel 'gem-f33'; did you mean 'gem
func.func @main(%x: memref<8x24xf32>, %w: memref<24x32xf32>, %t: memref<8x32xf32> {inarch.result}, %y: memref<8x32xf32> {inarch.result}) {
  loop.nest (m = 8, n = 32, k = 24 reduction) ins(%x[m, k] : memref<8x24xf32>, %w[k, n] : memref<24x32xf32>) outs(%t[m, n] init 0.0 : memref<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  } loc("dense")
  loop.nest (m = 8, n = 32, k = 24 reduction) ins(%x[m, k] : memref<8x24xf32>, %w[k, n] : memref<24x32xf32>) outs(%y[m, n] init 0.0 : memref<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  } loc("other")
  func.return
}
}
