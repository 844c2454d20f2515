// RUN: inarch-opt %s -p outline-nests,plan-memory -t c | filecheck %s

// A loop with scratch memory is a kernel with a workspace: each thread's is a place in the caller's.
// CHECK: void inarch_part_loop_2_{{[0-9a-f]+}}(const float *__restrict in, float *__restrict out, void *__restrict workspace, int64_t begin, int64_t end)
// CHECK: float *[[T:t[0-9_]*]] = (float *)workspace;
// CHECK: for (int64_t i = begin * 4; i < end * 4; i += 4) {
// CHECK: const float *rows = in + i * 8;
// CHECK: float *part = out + i;
// CHECK: void inarch_kernel_loop_2_{{[0-9a-f]+}}(void *context, int64_t begin, int64_t end, int32_t part)
// CHECK: inarch_part_loop_2_{{[0-9a-f]+}}((const float *)buffers[0], (float *)buffers[1], (char *)buffers[2] + part * INT64_C(128), begin, end);
// CHECK: inarch_share(2, 2, inarch_kernel_loop_2_{{[0-9a-f]+}}, (void *)shared);
func.func @main(%x: memref<8x8xf32>, %y: memref<8xf32> {inarch.result}) {
  loop.for %i = 0 to 8 step 4 parallel {
    %rows = memref.subview %x[%i, 0] [4, 8] [1, 1] : memref<8x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
    %part = memref.subview %y[%i] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
    %t = loop.alloc : memref<4xf32>
    loop.nest (r = 4, k = 8 reduction) ins(%rows[r, k] : memref<4x8xf32, strided<[8, 1], offset: ?>>) outs(%t[r] init 0.0 : memref<4xf32>) {
    ^bb0(%e: f32, %acc: f32):
      %s = arith.addf %acc, %e : f32
      loop.yield %s : f32
    }
    loop.nest (r = 4) ins(%t[r] : memref<4xf32>) outs(%part[r] : memref<4xf32, strided<[1], offset: ?>>) {
    ^bb0(%e: f32, %o: f32):
      %s = math.exp %e : f32
      loop.yield %s : f32
    }
    loop.yield
  }
  func.return
}
