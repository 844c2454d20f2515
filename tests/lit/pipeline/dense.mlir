// A dense layer: one fused nest, one call of a register tile with bias and relu in it, and its C.

// RUN: inarch compile %s --target=x86-64-v3 --emit=loop | filecheck %s --check-prefix=LOOP
// RUN: inarch compile %s --target=x86-64-v3 --emit=kernel | filecheck %s --check-prefix=KERNEL
// RUN: inarch compile %s --target=x86-64-v3 --emit=c | filecheck %s --check-prefix=C
// RUN: inarch run %s --check=%s

// LOOP:      inarch.target = "x86-64-v3"
// LOOP:      func.func @main(%x: memref<4x8xf32> {inarch.name = "x"}
// LOOP-SAME: %out: memref<4x16xf32> {inarch.name = "y", inarch.result})
// LOOP-NEXT: loop.nest (m = 4, n = 16, k = 8 reduction) ins(%x[m, k]
// LOOP-SAME: outs(%out[m, n] init 0.0 : memref<4x16xf32>)
// LOOP:      } finish {
// LOOP:      arith.addf
// LOOP:      arith.maximumf
// LOOP-NOT:  loop.nest

// KERNEL:      kernel.def @[[TILE:(gemm|conv)_f32_[A-Z0-9]+_[A-Z0-9_]*zero_[0-9a-f]+]] computes
// KERNEL-SAME: max({{.*}}E0[
// KERNEL:      loop.call @[[NAME:[0-9A-Za-z_]+]](%x, %w, %b, %out)
// KERNEL:      func.func private @[[NAME]](
// KERNEL-SAME: attributes {inarch.kernel}
// KERNEL-NEXT: kernel.call @[[TILE]](%x[0] strides [{{.*}}], %w[0] strides [{{.*}}], %out[0] strides

// C:      static void inarch_kernel_[[NAME:(gemm|conv)_f32_[0-9A-Za-z_]+]](const float *__restrict in
// C:      int32_t dense_main_run(void *const *buffers, const void *weights, void *workspace)
// C:      inarch_kernel_[[NAME]](x, w, b, out);
func.func @main(%x: tensor<4x8xf32> {inarch.name = "x"}, %w: tensor<8x16xf32> {inarch.name = "w"}, %b: tensor<16xf32> {inarch.name = "b"}) -> (tensor<4x16xf32> {inarch.name = "y"}) {
  %0 = graph.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %1 = graph.add %0, %b : tensor<4x16xf32>, tensor<16xf32> -> tensor<4x16xf32>
  %2 = graph.relu %1 : tensor<4x16xf32> -> tensor<4x16xf32>
  func.return %2 : tensor<4x16xf32>
}
