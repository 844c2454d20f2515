// A depthwise convolution and a pool: padding becomes a copy, and both share one workspace.

// RUN: inarch compile %s --target=x86-64-v3 --emit=loop | filecheck %s --check-prefix=LOOP
// RUN: inarch compile %s --target=x86-64-v3 --emit=kernel | filecheck %s --check-prefix=KERNEL
// RUN: inarch compile %s --target=x86-64-v3 --emit=c | filecheck %s --check-prefix=C
// RUN: inarch run %s --check=%s

// LOOP:      %[[CONV:[0-9]+]] = loop.alloc : memref<1x16x6x6xf32>
// LOOP-NEXT: loop.nest (g = 16, oh = 6, ow = 6, kh = 3 reduction, kw = 3 reduction)
// LOOP-SAME: %x[0, g, oh + kh - 1, ow + kw - 1] pad 0.0
// LOOP-SAME: outs(%[[CONV]][0, g, oh, ow] init 0.0
// LOOP:      loop.nest (c = 16, oh = 3, ow = 3, kh = 2 reduction, kw = 2 reduction)
// LOOP-SAME: init -inf

// KERNEL:     inarch.workspace_bytes = {{[1-9][0-9]*}}
// KERNEL:     %x_padded = loop.alloc at {{[0-9]+}} : memref<1x16x8x8xf32>
// KERNEL:     loop.call @columns_{{[0-9a-zA-Z_]+}}(%x_padded, %w, %{{.*}})
// KERNEL:     loop.call @reduce_
// KERNEL-NOT: pad 0.0

// C: int32_t depthwise_main_run(
// C: (char *)workspace
// C: inarch_kernel_columns_{{[0-9a-zA-Z_]+}}(x_padded, w, scratch);
// C: inarch_kernel_reduce_{{[0-9a-zA-Zx_]+}}(scratch, out);
func.func @main(%x: tensor<1x16x6x6xf32>, %w: tensor<16x1x3x3xf32>) -> tensor<1x16x3x3xf32> {
  %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 16 : tensor<1x16x6x6xf32>, tensor<16x1x3x3xf32> -> tensor<1x16x6x6xf32>
  %1 = graph.max_pool %0 window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x16x6x6xf32> -> tensor<1x16x3x3xf32>
  func.return %1 : tensor<1x16x3x3xf32>
}
