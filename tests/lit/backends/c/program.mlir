// RUN: inarch-opt %s -t c | filecheck %s

module attributes {inarch.name = "net"} {

// The kernel that is called in place does without __restrict.
// CHECK: static void inarch_kernel_double(const float *x, float *y);
// CHECK: static const uint64_t inarch_embedded[8] __attribute__((aligned(64))) = {
// CHECK-NEXT: 0x3f80000040000000u,

// CHECK-LABEL: int32_t net_infer_run(void *const *buffers, const void *weights, void *workspace)
// CHECK-NEXT: {
// CHECK-NEXT:     INARCH_ENVIRONMENT;
// CHECK-NEXT:     const float *x = (const float *)buffers[0];
// CHECK-NEXT:     float *y = (float *)buffers[1];
// CHECK-NEXT:     const float *w = (const float *)weights;
// CHECK-NEXT:     float *t = (float *)workspace;
// CHECK-NEXT:     inarch_kernel_double(w, t);
// CHECK-NEXT:     inarch_kernel_double(t, t);
// CHECK-NEXT:     for (int64_t i = 0; i < 2; i++) {
// CHECK-NEXT:         const float a = x[i];
// CHECK-NEXT:         const float b = t[i];
// CHECK-NEXT:         y[i] = a * b;
// CHECK-NEXT:     }
// CHECK-NEXT:     return 0;
// CHECK-NEXT: }

// CHECK: static const int64_t net_infer_shape0[] = {2};
// CHECK: static const inarch_port net_infer_ports[] = {
// CHECK-NEXT:     {"in", 0x220, 1, net_infer_shape0, 8, 1, 1},
// CHECK-NEXT:     {"out0", 0x220, 1, net_infer_shape1, 8, 2, 1},
// CHECK-NEXT: };
// CHECK-NEXT: static const inarch_function inarch_functions[] = {
// CHECK-NEXT:     {"infer", 1, 1, net_infer_ports, 64},
// CHECK-NEXT: };
// CHECK: int32_t net_infer(DLTensor *args, int32_t n)
func.func @infer(%x: memref<2xf32> {inarch.name = "in"}, %y: memref<2xf32>) {
  %w = loop.constant dense<[2.0, 1.0]> : tensor<2xf32> at 0 : memref<2xf32>
  %t = loop.alloc at 0 : memref<2xf32>
  loop.call @double(%w, %t) : memref<2xf32>, memref<2xf32>
  loop.call @double(%t, %t) : memref<2xf32>, memref<2xf32>
  loop.for %i = 0 to 2 {
    %a = memref.load %x[%i] : memref<2xf32>
    %b = memref.load %t[%i] : memref<2xf32>
    %p = arith.mulf %a, %b : f32
    memref.store %p, %y[%i] : memref<2xf32>
    loop.yield
  }
  func.return
}
func.func private @double(%x: memref<2xf32>, %y: memref<2xf32>) {
  loop.nest (i = 2) ins(%x[i] : memref<2xf32>) outs(%y[i] : memref<2xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %a : f32
    loop.yield %s : f32
  }
  func.return
}
}
