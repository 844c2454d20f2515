// RUN: inarch-opt %s -t c | filecheck %s

module attributes {inarch.name = "net"} {

// A library's function whose prototype is its own: called by a function of ours, which is static.
// CHECK: /* scaled: for i in n: Y[i] = 2 * X[i] */
// CHECK-NEXT: void scale(const float *, float *, int, int);
// CHECK-NEXT: static void scaled(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n) {
// CHECK-NEXT:     (void)Y_0;
// CHECK-NEXT:     scale(X, Y, (int)X_0, (int)n);
// CHECK-NEXT: }
kernel.def @scaled computes "for i in n: Y[i] = 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>, #kernel.operand<Y : f32 write rank 1 align 4>]
    needs [] symbol "scale" call "scale({X}, {Y}, (int){X.strides[0]}, (int){n});" declare "void scale(const float *, float *, int, int);" library "/opt/libscale.so"

// One that has our prototype.
// CHECK: /* ours: for i in n: Y[i] = 2 * X[i] */
// CHECK-NEXT: INARCH_C void their_name(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n);
// CHECK-NEXT: static void ours(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n) {
// CHECK-NEXT:     their_name(X, Y, X_0, Y_0, n);
// CHECK-NEXT: }
kernel.def @ours computes "for i in n: Y[i] = 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>, #kernel.operand<Y : f32 write rank 1 align 4>]
    needs [] symbol "their_name"

// One that is called like it, too.
// CHECK: /* same: for i in n: Y[i] = 2 * X[i] */
// CHECK-NEXT: INARCH_C void same(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t n);
kernel.def @same computes "for i in n: Y[i] = 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>, #kernel.operand<Y : f32 write rank 1 align 4>]
    needs [] symbol "same"

// A registered function has no C: tensors, whose offsets the loops move; what is written comes last.
kernel.def @slot computes "for i in n: Y[i] += 2 * X[i] * S[]" arguments [
    #kernel.operand<Y : f32 update rank 1 align 4>, #kernel.operand<X : f32 read rank 1 align 4>,
    #kernel.operand<S : f32 read rank 0 align 4>]
    needs [] registered "my-scale"

// CHECK: static const char *const inarch_import_names[1] = {"my-scale"};
// CHECK-LABEL: int32_t net_main_run(void *const *buffers, const void *weights, void *workspace){{$}}
// CHECK:      scaled(x, y, 1, 1, 8);
// CHECK-NEXT: ours(x, y, 1, 1, 8);
// CHECK-NEXT: same(x, y, 1, 1, 8);
// CHECK-NEXT: {
// CHECK-NEXT:     int64_t shape0[] = {3};
// CHECK-NEXT:     int64_t strides0[] = {2};
// CHECK-NEXT:     int64_t shape2[] = {3};
// CHECK-NEXT:     int64_t strides2[] = {1};
// CHECK-NEXT:     DLTensor args[3] = {
// CHECK-NEXT:         {(void *)x, {1, 0}, 1, {2, 32, 1}, shape0, strides0, 0},
// CHECK-NEXT:         {(void *)x, {1, 0}, 0, {2, 32, 1}, NULL, NULL, 0},
// CHECK-NEXT:         {(void *)y, {1, 0}, 1, {2, 32, 1}, shape2, strides2, 0},
// CHECK-NEXT:     };
// CHECK-NEXT:     for (int64_t i = 0; i < 2; i++) {
// CHECK-NEXT:         args[0].byte_offset = (uint64_t)(i + 1) * 4;
// CHECK-NEXT:         args[1].byte_offset = (uint64_t)(7) * 4;
// CHECK-NEXT:         args[2].byte_offset = (uint64_t)(i * 4) * 4;
// CHECK-NEXT:         const int32_t status = inarch_call_import(0, args, 3);
// CHECK-NEXT:         if (status != 0) {
// CHECK-NEXT:             return status;
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT: }
func.func @main(%x: memref<8xf32>, %y: memref<8xf32> {inarch.result}) {
  kernel.call @scaled(%x[0] strides [1], %y[0] strides [1]) sizes [8] : memref<8xf32>, memref<8xf32>
  kernel.call @ours(%x[0] strides [1], %y[0] strides [1]) sizes [8] : memref<8xf32>, memref<8xf32>
  kernel.call @same(%x[0] strides [1], %y[0] strides [1]) sizes [8] : memref<8xf32>, memref<8xf32>
  kernel.call @slot for (i in 2) (%y[i * 4] strides [1], %x[i + 1] strides [2], %x[7] strides []) sizes [3] : memref<8xf32>, memref<8xf32>, memref<8xf32>
  func.return
}
}
