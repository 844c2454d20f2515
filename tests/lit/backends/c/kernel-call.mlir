// RUN: inarch-opt %s -t c | filecheck %s
// RUN: inarch-opt %s -p outline-nests | filecheck %s --check-prefix=OUTLINED

module attributes {inarch.name = "net"} {

kernel.def @axpy computes "for i in n: Y[i] += 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>,
    #kernel.operand<Y : f32 update rank 1 align 4>] needs [] source "void axpy(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n) { for (int64_t i = 0; i < n; i++) Y[i * Y_0] += 2 * X[i * X_0]; }"

// The definition stands once, static, so that the compiler sees constants.
// CHECK: /* axpy: for i in n: Y[i] += 2 * X[i] */
// CHECK-NEXT: static void axpy(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n);
// CHECK-NEXT: void axpy(const float *X,
// CHECK-NOT: static void axpy(

// Loops run in the written order; those of one point are gone. Offsets count from element 0, which
// is where the layout says.
// CHECK-LABEL: void inarch_kernel_loops(const float *__restrict x, float *__restrict y){{$}}
// CHECK-NEXT: {
// CHECK-NEXT:     for (int64_t k = 0; k < 3; k++) {
// CHECK-NEXT:         for (int64_t i = 0; i < 2; i++) {
// CHECK-NEXT:             axpy(x + k * 8 + i + 1, y + i * 4 + 5, 2, 1, 4);
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT: }
func.func private @loops(%x: memref<25xf32>, %y: memref<8xf32, strided<[1], offset: 5>>) {
  kernel.call @axpy for (k in 3 reduction, one in 1, i in 2) (%x[i + k * 8 + 1 + one * 7] strides [2], %y[i * 4] strides [1]) sizes [4] : memref<25xf32>, memref<8xf32, strided<[1], offset: 5>>
  func.return
}

// CHECK-LABEL: void inarch_kernel_once(const float *__restrict x, float *__restrict y){{$}}
// CHECK-NEXT: {
// CHECK-NEXT:     axpy(x, y, 1, 1, 4);
// CHECK-NEXT: }
func.func private @once(%x: memref<4xf32>, %y: memref<4xf32>) {
  kernel.call @axpy(%x[0] strides [1], %y[0] strides [1]) sizes [4] : memref<4xf32>, memref<4xf32>
  func.return
}

// A call of a public function becomes a function of its own, called by kernel and loops; what it
// writes comes last, wherever the call has it. Equal ones are shared.
// OUTLINED-LABEL: func.func @main(
// OUTLINED:       loop.call @[[K:axpy_2_[0-9a-f]+]](%x, %y)
// OUTLINED-NEXT:  loop.call @[[K]](%y, %x)
// OUTLINED-NEXT:  loop.call @[[ONCE:axpy_back_once_[0-9a-f]+]](%x, %y)
// OUTLINED:       func.func private @[[K]](%x: memref<8xf32>, %y: memref<8xf32>) attributes {inarch.kernel} {
// OUTLINED-NEXT:    kernel.call @axpy for (i in 2) (%x[i * 4] strides [1], %y[i * 4] strides [1]) sizes [4] : memref<8xf32>, memref<8xf32>
// OUTLINED:       func.func private @[[ONCE]](%x: memref<8xf32>, %y: memref<8xf32>) attributes {inarch.kernel} {
// OUTLINED-NEXT:    kernel.call @axpy_back(%y[0] strides [1], %x[0] strides [1]) sizes [8] : memref<8xf32>, memref<8xf32>
kernel.def @axpy_back computes "for i in n: Y[i] += 2 * X[i]" arguments [
    #kernel.operand<Y : f32 update rank 1 align 4>,
    #kernel.operand<X : f32 read rank 1 align 4>] needs [] source "void axpy_back(float *Y, const float *X, int64_t Y_0, int64_t X_0, int64_t n) { for (int64_t i = 0; i < n; i++) Y[i * Y_0] += 2 * X[i * X_0]; }"
func.func @main(%x: memref<8xf32> {inarch.result}, %y: memref<8xf32> {inarch.result}) {
  kernel.call @axpy for (i in 2) (%x[i * 4] strides [1], %y[i * 4] strides [1]) sizes [4] : memref<8xf32>, memref<8xf32>
  kernel.call @axpy for (i in 2) (%y[i * 4] strides [1], %x[i * 4] strides [1]) sizes [4] : memref<8xf32>, memref<8xf32>
  kernel.call @axpy_back(%y[0] strides [1], %x[0] strides [1]) sizes [8] : memref<8xf32>, memref<8xf32>
  func.return
}
}
