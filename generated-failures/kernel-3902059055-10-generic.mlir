builtin.module {
  kernel.def @axpy0 computes "for i in 4: Y[i] += 2 * X[i]" arguments [#kernel.operand<X : f32 read rank 1 align 4>, #kernel.operand<Y : f32 update rank 1 align 4>] needs [] source "void axpy0(const float *X, float *Y, int64_t X_0, int64_t Y_0) { for (int64_t i = 0; i < 4; i++) {  Y[(i) * Y_0] = Y[(i) * Y_0] + 2 * X[(i) * X_0]; } }"
  func.func @main(%b1: memref<4xf32> {inarch.result}, %b2: memref<4xf32>) {
    kernel.call @axpy0(%b2[0] strides [1], %b1[0] strides [1]) sizes [] : memref<4xf32>, memref<4xf32>
    func.return
  }
}
