// RUN: inarch-opt %s -p outline-nests,plan-memory -t c | filecheck %s

module attributes {inarch.name = "net"} {

kernel.def @scale computes "for i in 4: Y[i] = 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>,
    #kernel.operand<Y : f32 write rank 1 align 4>] needs [] source "void scale(const float *X, float *Y, int64_t X_0, int64_t Y_0) { for (int64_t i = 0; i < 4; i++) Y[i * Y_0] = 2 * X[i * X_0]; }"

// A kernel whose iterations threads share does some of them; the pool calls it with an array of its pointers.
// CHECK: static __attribute__((noinline)) void inarch_part_map_6x8_[[MAP:[0-9a-f]+]](const float *__restrict in, float *__restrict out, int64_t begin, int64_t end)
// CHECK-NEXT: {
// CHECK-NEXT: (i = 6 parallel, j = 8)
// CHECK-NEXT:     for (int64_t i = begin; i < end; i++) {
// CHECK:      static void inarch_kernel_map_6x8_{{[0-9a-f]+}}(void *context, int64_t begin, int64_t end, int32_t part)
// CHECK-NEXT: {
// CHECK-NEXT:     (void)part;
// CHECK-NEXT:     void *const *buffers = (void *const *)context;
// CHECK-NEXT:     inarch_part_map_6x8_[[MAP]]((const float *)buffers[0], (float *)buffers[1], begin, end);
// CHECK-NEXT: }

// The loop need not be the outermost one.
// CHECK: inarch_part_scale_2x6_{{[0-9a-f]+}}(
// CHECK:     for (int64_t j = 0; j < 2; j++) {
// CHECK-NEXT:         for (int64_t i = begin; i < end; i++) {
// CHECK-NEXT:             scale(in + j * 4 + i * 8, out + j * 4 + i * 8, 1, 1);

// A loop that is written as one, from where it begins in its steps.
// CHECK: inarch_part_loop_3_{{[0-9a-f]+}}(
// CHECK:     for (int64_t k = 1 + begin * 2; k < 1 + end * 2; k += 2) {

// One iteration is nobody's to share.
// CHECK: static void inarch_kernel_map_1x8_{{[0-9a-f]+}}(const float *__restrict in, float *__restrict out)

// CHECK: int32_t net_main_run(void *const *buffers, const void *weights, void *workspace)
// CHECK:         void *const shared[] = {(void *)x, (void *)y};
// CHECK-NEXT:    inarch_share(6, 0, inarch_kernel_map_6x8_{{[0-9a-f]+}}, (void *)shared);
// CHECK:         inarch_share(6, 0, inarch_kernel_scale_2x6_
// CHECK:         inarch_share(3, 0, inarch_kernel_loop_3_
// CHECK:     inarch_kernel_map_1x8_{{[0-9a-f]+}}(x, v);

// CHECK: static const inarch_model inarch_self = {
// CHECK:         &inarch_own_pool,
// CHECK:     inarch_pool_threads,
// CHECK: int32_t net_main(DLTensor *args, int32_t n)
// CHECK: int32_t net_set_threads(int32_t threads)
// CHECK: const inarch_pool *net_pool(const inarch_pool *use)
func.func @main(%x: memref<6x8xf32>, %y: memref<6x8xf32> {inarch.result}, %z: memref<6x8xf32> {inarch.result}, %w: memref<6x8xf32> {inarch.result}, %v: memref<6x8xf32> {inarch.result}) {
  loop.nest (i = 6 parallel, j = 8) ins(%x[i, j] : memref<6x8xf32>) outs(%y[i, j] : memref<6x8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %a : f32
    loop.yield %s : f32
  }
  kernel.call @scale for (j in 2, i in 6 parallel) (%x[i * 8 + j * 4] strides [1], %z[i * 8 + j * 4] strides [1]) sizes [] : memref<6x8xf32>, memref<6x8xf32>
  loop.for %k = 1 to 6 step 2 parallel {
    %c = arith.constant 0 : index
    %e = memref.load %x[%k, %c] : memref<6x8xf32>
    memref.store %e, %w[%k, %c] : memref<6x8xf32>
    loop.yield
  }
  loop.nest (i = 1 parallel, j = 8) ins(%x[i, j] : memref<6x8xf32>) outs(%v[i, j] : memref<6x8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %a : f32
    loop.yield %s : f32
  }
  func.return
}
}
