builtin.module {
  kernel.def @gemm0 computes "for m in 4, n in 4, k in 4: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "void gemm0(const float *A, const float *B, float *C, int64_t A_0, int64_t A_1, int64_t B_0, int64_t B_1, int64_t C_0, int64_t C_1) { for (int64_t m = 0; m < 4; m++) for (int64_t n = 0; n < 4; n++) { for (int64_t k = 0; k < 4; k++) C[(m) * C_0 + (n) * C_1] = C[(m) * C_0 + (n) * C_1] + A[(m) * A_0 + (k) * A_1] * B[(k) * B_0 + (n) * B_1]; } }"
  func.func @main(%b1: memref<16xf32> {inarch.result}, %b2: memref<16xf32>, %b3: memref<16xf32>) {
    kernel.call @gemm0(%b2[0] strides [1, 4], %b3[0] strides [1, 4], %b1[0] strides [1, 4]) sizes [] : memref<16xf32>, memref<16xf32>, memref<16xf32>
    func.return
  }
}
