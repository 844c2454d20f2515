// RUN: python -m inarch.testing.generate --file %s --start 126 --optimize 3 --target generic
// FOUND: differs: gcc 12 leaves out the call of a function that writes its output (-O3)
builtin.module {
  kernel.def @scale0 computes "for i in 8, j in 8: Y[j, i] = X[i, j] * S[]" arguments [#kernel.operand<X : i32 read rank 2 align 4>, #kernel.operand<S : i32 read rank 0 align 4>, #kernel.operand<Y : i32 write rank 2 align 4>] needs [] source "void scale0(const int32_t *X, const int32_t *S, int32_t *Y, int64_t X_0, int64_t X_1, int64_t Y_0, int64_t Y_1) { for (int64_t i = 0; i < 8; i++) for (int64_t j = 0; j < 8; j++) {  Y[(j) * Y_0 + (i) * Y_1] = (int32_t)((uint32_t)X[(i) * X_0 + (j) * X_1] * (uint32_t)S[0]); } }"
  func.func @main(%b1: memref<261xi32> {inarch.result}, %b2: memref<240xi32>) {
    kernel.call @scale0 for (o0 in 4, o1 in 1) (%b2[o0 + o1 * 235 + 208] strides [-29, 0], %b2[o0 * 2] strides [], %b1[o0 * 64 + o1 * 256 + 1] strides [1, 8]) sizes [] : memref<240xi32>, memref<240xi32>, memref<261xi32>
    func.return
  }
}
