// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs ["avx512f", "fma"] source "void gemm(void);\0A"

// Without loops.
// CHECK-LABEL: func.func @call(
// CHECK-NEXT: kernel.call @gemm(%a[0] strides [8, 1], %b[0] strides [16, 1], %c[0] strides [32, 1]) sizes [8] : memref<4x8xf32>, memref<8x16xf32>, memref<4x16xf32, strided<[32, 1], offset: 5>>
func.func @call(%a: memref<4x8xf32>, %b: memref<8x16xf32>, %c: memref<4x16xf32, strided<[32, 1], offset: 5>>) {
  kernel.call @gemm(%a[0] strides [8, 1], %b[0] strides [16, 1], %c[0] strides [32, 1]) sizes [8] : memref<4x8xf32>, memref<8x16xf32>, memref<4x16xf32, strided<[32, 1], offset: 5>>
  func.return
}

// Tiles of larger buffers; the reduction accumulates, and stands where it is written.
// CHECK-LABEL: func.func @loops(
// CHECK-NEXT: kernel.call @gemm for (j in 2, k in 3 reduction, i in 4) (%a[k * 8 + i * 96] strides [24, 1], %b[j * 16 + k * 256] strides [32, 1], %c[j * 16 + i * 128] strides [32, 1]) sizes [8] {note} : memref<16x24xf32>, memref<24x32xf32>, memref<512xf32>
func.func @loops(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<512xf32>) {
  kernel.call @gemm for (j in 2, k in 3 reduction, i in 4) (%a[i * 96 + k * 8] strides [24, 1], %b[256 * k + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] {note} : memref<16x24xf32>, memref<24x32xf32>, memref<512xf32>
  func.return
}

// The last element of every operand is that of its buffer; a transposed A; a loop of one point.
// CHECK-LABEL: func.func @edges(
// CHECK-NEXT: kernel.call @gemm for (i in 1) (%a[2] strides [1, 6], %b[1] strides [16, 1], %c[3] strides [16, 1]) sizes [8] : memref<8x6xf32>, memref<129xf32>, memref<67xf32>
func.func @edges(%a: memref<8x6xf32>, %b: memref<129xf32>, %c: memref<67xf32>) {
  kernel.call @gemm for (i in 1) (%a[2] strides [1, 6], %b[1] strides [16, 1], %c[3] strides [16, 1]) sizes [8] : memref<8x6xf32>, memref<129xf32>, memref<67xf32>
  func.return
}

// Nothing is touched where a size is 0.
// CHECK-LABEL: func.func @empty(
// CHECK-NEXT: kernel.call @gemm for (i in 0) (%a[i * 9] strides [9, 9], %a[0] strides [9, 9], %c[i * 9] strides [9, 9]) sizes [8] : memref<1xf32>, memref<1xf32>, memref<1xf32>
func.func @empty(%a: memref<1xf32>, %c: memref<1xf32>) {
  kernel.call @gemm for (i in 0) (%a[i * 9] strides [9, 9], %a[0] strides [9, 9], %c[i * 9] strides [9, 9]) sizes [8] : memref<1xf32>, memref<1xf32>, memref<1xf32>
  func.return
}

// No free sizes, no dimensions.
kernel.def @both computes "C[] = 0" arguments [#kernel.operand<C : f64 write rank 0 align 8>] needs [] source "void f(double *c) { *c = 0; }" symbol "f"
// CHECK-LABEL: func.func @fixed(
// CHECK-NEXT: kernel.call @both(%c[0] strides []) sizes [] {note} : memref<f64>
func.func @fixed(%c: memref<f64>) {
  kernel.call @both(%c[0] strides []) sizes [] {note} : memref<f64>
  func.return
}

// A convolution reads overlapping elements, backwards as well.
kernel.def @conv computes "for q in 8, s in 3: Y[q] += X[q + s] * W[s]" arguments [#kernel.operand<Y : f32 update rank 1 align 4>, #kernel.operand<X : f32 read rank 1 align 4>, #kernel.operand<W : f32 read rank 1 align 4>] needs [] source "x"
// CHECK-LABEL: func.func @window(
// CHECK-NEXT: kernel.call @conv(%y[0] strides [1], %x[0] strides [1], %w[2] strides [-1]) sizes [] : memref<8xf32>, memref<10xf32>, memref<3xf32>
func.func @window(%y: memref<8xf32>, %x: memref<10xf32>, %w: memref<3xf32>) {
  kernel.call @conv(%y[0] strides [1], %x[0] strides [1], %w[2] strides [-1]) sizes [] : memref<8xf32>, memref<10xf32>, memref<3xf32>
  func.return
}
