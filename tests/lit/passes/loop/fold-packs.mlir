// RUN: inarch-opt %s -p fold-packs | filecheck %s

// Packing a constant happens at compile time, once for both users; the unpacked one disappears.
// CHECK-LABEL: @packs_constants
func.func @packs_constants() {
  %w = loop.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : memref<3xf32>
  %p = loop.alloc : memref<2x2xf32>
  kernel.pack %w[i * 2 + j] to %p[i, j] : memref<3xf32>, memref<2x2xf32>
  %q = loop.alloc : memref<2x2xf32>
  kernel.pack %w[i * 2 + j] to %q[i, j] : memref<3xf32>, memref<2x2xf32>
  func.return
}
// CHECK-NEXT: loop.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 0.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: loop.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 0.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: func.return

// A view of the constant is the same memory under another shape.
// CHECK-LABEL: @packs_through_a_view
func.func @packs_through_a_view() {
  %w = loop.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> : memref<2x2xf32>
  %v = loop.reshape %w : memref<2x2xf32> to memref<4xf32>
  %p = loop.alloc : memref<3x2xf32>
  kernel.pack %v[i * 2 + j] to %p[i, j] : memref<4xf32>, memref<3x2xf32>
  func.return
}
// CHECK-NEXT: loop.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [0.000000e+00, 0.000000e+00]]> : tensor<3x2xf32>
// CHECK-NEXT: func.return

// CHECK-LABEL: @a_variable_is_packed_at_run_time
func.func @a_variable_is_packed_at_run_time(%w: memref<3xf32>) {
  %p = loop.alloc : memref<2x2xf32>
  kernel.pack %w[i * 2 + j] to %p[i, j] : memref<3xf32>, memref<2x2xf32>
  func.return
}
// CHECK: kernel.pack %w

// What reads the packed buffer reads the constant.
// CHECK-LABEL: @a_packed_constant_is_read
func.func @a_packed_constant_is_read(%out: memref<2x2xf32> {inarch.result}) {
  %w = loop.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : memref<3xf32>
  %p = loop.alloc : memref<2x2xf32>
  kernel.pack %w[i * 2 + j] to %p[i, j] : memref<3xf32>, memref<2x2xf32>
  loop.nest (i = 2, j = 2) ins(%p[i, j] : memref<2x2xf32>) outs(%out[i, j] : memref<2x2xf32>) {
  ^body(%x: f32, %y: f32):
    loop.yield %x : f32
  }
  func.return
}
// CHECK-NEXT: %p = loop.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 0.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: loop.nest (i = 2, j = 2) ins(%p[i, j]
// What something else writes too is no constant: the code would write to the weights.
// CHECK-LABEL: @another_writes_to_it(
// CHECK: loop.alloc
// CHECK: kernel.pack
func.func @another_writes_to_it(%y: memref<4xf32> {inarch.result}) {
  %w = loop.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : memref<3xf32>
  %p = loop.alloc : memref<4xf32>
  kernel.pack %w[i] to %p[i] : memref<3xf32>, memref<4xf32>
  %v = loop.reshape %p : memref<4xf32> to memref<2x2xf32>
  loop.nest (i = 2) outs(%v[1, i] : memref<2x2xf32>) {
  ^bb0(%o: f32):
    %s = arith.addf %o, %o : f32
    loop.yield %s : f32
  }
  loop.nest (i = 4) ins(%p[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}

// CHECK-LABEL: @a_kernel_writes_to_it(
// CHECK: loop.alloc
// CHECK: kernel.pack
kernel.def @axpy computes "for i in 4: Y[i] += X[i]" arguments [#kernel.operand<X : f32 read rank 1 align 4>, #kernel.operand<Y : f32 update rank 1 align 4>] needs [] source "void axpy(void);"
func.func @a_kernel_writes_to_it(%x: memref<4xf32>) {
  %w = loop.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : memref<3xf32>
  %p = loop.alloc : memref<4xf32>
  kernel.pack %w[i] to %p[i] : memref<3xf32>, memref<4xf32>
  kernel.call @axpy(%x[0] strides [1], %p[0] strides [1]) sizes [] : memref<4xf32>, memref<4xf32>
  func.return
}

// CHECK-LABEL: @a_kernel_reads_it(
// CHECK-NOT: kernel.pack
// CHECK: kernel.call @axpy
func.func @a_kernel_reads_it(%y: memref<4xf32>) {
  %w = loop.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : memref<3xf32>
  %p = loop.alloc : memref<4xf32>
  kernel.pack %w[i] to %p[i] : memref<3xf32>, memref<4xf32>
  kernel.call @axpy(%p[0] strides [1], %y[0] strides [1]) sizes [] : memref<4xf32>, memref<4xf32>
  func.return
}
