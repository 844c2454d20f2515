builtin.module {
  kernel.def @largest0 computes "for i in 4, r in 4: Y[i] max= X[i, r]" arguments [#kernel.operand<X : f32 read rank 2 align 4>, #kernel.operand<Y : f32 update rank 1 align 4>] needs [] source "void largest0(const float *X, float *Y, int64_t X_0, int64_t X_1, int64_t Y_0) { for (int64_t i = 0; i < 4; i++) { for (int64_t r = 0; r < 4; r++) Y[(i) * Y_0] = (Y[(i) * Y_0] > X[(i) * X_0 + (r) * X_1] || Y[(i) * Y_0] != Y[(i) * Y_0]) ? Y[(i) * Y_0] : X[(i) * X_0 + (r) * X_1]; } }"
  func.func @main(%b1: memref<4xf32> {inarch.result}, %b2: memref<16xf32>) {
    kernel.call @largest0(%b2[0] strides [1, 4], %b1[0] strides [1]) sizes [] : memref<16xf32>, memref<4xf32>
    func.return
  }
}
