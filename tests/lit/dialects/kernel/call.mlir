// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// An operand may be a tile of a larger buffer.
// CHECK: kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs ["avx512f", "fma"] source "void gemm(void);\0A"
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs ["avx512f", "fma"] source "void gemm(void);\0A"
// CHECK-LABEL: func.func @call(
// CHECK-NEXT: kernel.call @gemm(%a, %b, %c) [8] : memref<4x8xf32>, memref<8x16xf32>, memref<4x16xf32, strided<[32, 1], offset: 5>>
func.func @call(%a: memref<4x8xf32>, %b: memref<8x16xf32>, %c: memref<4x16xf32, strided<[32, 1], offset: 5>>) {
  kernel.call @gemm(%a, %b, %c) [8] : memref<4x8xf32>, memref<8x16xf32>, memref<4x16xf32, strided<[32, 1], offset: 5>>
  func.return
}

// No free iterators.
// CHECK: kernel.def @both computes "C[] = 0" arguments [#kernel.operand<C : f64 write rank 0 align 8>] needs [] source "void f(double *c) { *c = 0; }" symbol "f"
kernel.def @both computes "C[] = 0" arguments [#kernel.operand<C : f64 write rank 0 align 8>] needs [] source "void f(double *c) { *c = 0; }" symbol "f"
// CHECK-LABEL: func.func @fixed(
// CHECK-NEXT: kernel.call @both(%c) [] {note} : memref<f64>
func.func @fixed(%c: memref<f64>) {
  kernel.call @both(%c) [] {note} : memref<f64>
  func.return
}
