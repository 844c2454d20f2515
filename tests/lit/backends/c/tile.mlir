// RUN: inarch-opt %s -t c | filecheck %s

// 16 lanes of f32 are two registers of AVX2; what varies along no lane is a scalar, loaded once.
module attributes {inarch.name = "n", inarch.target = "x86-64-v3"} {

// CHECK: typedef float v8f32 __attribute__((vector_size(32)));
// CHECK-NEXT: typedef float v8f32_mem __attribute__((vector_size(32), aligned(4), may_alias));

// CHECK-LABEL: void inarch_kernel_gemm(const float *__restrict a, const float *__restrict b, float *__restrict c){{$}}
// CHECK:          for (int64_t mo = 0; mo < 3; mo++) {
// CHECK-NEXT:         const v8f32 start = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
// CHECK-NEXT:         v8f32 acc_0_0 = start;
// CHECK-NEXT:         v8f32 acc_0_1 = start;
// CHECK-NEXT:         v8f32 acc_1_0 = start;
// CHECK-NEXT:         v8f32 acc_1_1 = start;
// CHECK-NEXT:         for (int64_t k = 0; k < 8; k++) {
// CHECK-NEXT:             const float a_value = a[mo * 16 + k];
// CHECK-NEXT:             const v8f32 b_value = *(const v8f32_mem *)(b + k * 16);
// CHECK-NEXT:             acc_0_0 = INARCH_FMA_V8F32({{.*}}a_value}, b_value, acc_0_0);
// CHECK-NEXT:             const v8f32 b_value_1 = *(const v8f32_mem *)(b + k * 16 + 8);
// CHECK-NEXT:             acc_0_1 = INARCH_FMA_V8F32({{.*}}a_value}, b_value_1, acc_0_1);
// CHECK-NEXT:             const float a_value_1 = a[mo * 16 + k + 8];
// CHECK-NEXT:             acc_1_0 = INARCH_FMA_V8F32({{.*}}a_value_1}, b_value, acc_1_0);
// CHECK-NEXT:             acc_1_1 = INARCH_FMA_V8F32({{.*}}a_value_1}, b_value_1, acc_1_1);
// CHECK-NEXT:         }
// CHECK-NEXT:         *(v8f32_mem *)(c + mo * 32) = acc_0_0;
// CHECK-NEXT:         *(v8f32_mem *)(c + mo * 32 + 8) = acc_0_1;
// CHECK-NEXT:         *(v8f32_mem *)(c + mo * 32 + 16) = acc_1_0;
// CHECK-NEXT:         *(v8f32_mem *)(c + mo * 32 + 24) = acc_1_1;
// CHECK-NEXT:     }
func.func private @gemm(%a: memref<6x8xf32>, %b: memref<8x16xf32>, %c: memref<6x16xf32>) {
  loop.nest (mo = 3, k = 8 reduction, m = 2 unroll, n = 16 vector) ins(%a[mo * 2 + m, k] : memref<6x8xf32>, %b[k, n] : memref<8x16xf32>) outs(%c[mo * 2 + m, n] init 0.0 : memref<6x16xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  func.return
}

// Lanes that do not lie together in the output, or are clipped, go through an array, whose innermost loop
// runs along the output.
// CHECK-LABEL: void inarch_kernel_transposed(const float *__restrict a, float *__restrict c){{$}}
// CHECK:              float tile[16];
// CHECK:              *(v8f32_mem *)tile = acc_0_0;
// CHECK-NEXT:         *(v8f32_mem *)(tile + 8) = acc_1_0;
// CHECK-NEXT:         for (int64_t n = 0; n < 8; n++) {
// CHECK-NEXT:             const int64_t m_end = (5 - mo * 2) < 2 ? 5 - mo * 2 : 2;
// CHECK-NEXT:             for (int64_t m = 0; m < m_end; m++) {
// CHECK-NEXT:                 c[mo * 2 + m + n * 5] = tile[m * 8 + n];
func.func private @transposed(%a: memref<6x4x8xf32>, %c: memref<8x5xf32>) {
  loop.nest (mo = 3, k = 4 reduction, m = 2 unroll, n = 8 vector) ins(%a[mo * 2 + m, k, n] : memref<6x4x8xf32>) outs(%c[n, mo * 2 + m] init 0.0 clip : memref<8x5xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    loop.yield %s : f32
  }
  func.return
}

// Functions of whole vectors, as in templates and epilogues; a number bounds in one instruction.
// CHECK-LABEL: void inarch_kernel_functions(const float *__restrict a, const float *__restrict b, float *__restrict c){{$}}
// CHECK:      const v8f32 t = inarch_exp_v8f32((v8f32)((v8i32)a_value & 2147483647));
// CHECK-NEXT: const v8f32 all = {b_value, {{.*}}
// CHECK-NEXT: acc_0 = inarch_atmost_v8f32(6.0f, INARCH_MAXIMUM_V8F32(t, all, v8f32, v8i32));
func.func private @functions(%a: memref<4x8xf32>, %b: memref<4xf32>, %c: memref<4x8xf32>) {
  loop.nest (m = 4, n = 8 vector) ins(%a[m, n] : memref<4x8xf32>, %b[m] : memref<4xf32>) outs(%c[m, n] init 0.0 : memref<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %size = math.absf %x : f32
    %e = math.exp %size : f32
    %large = arith.maximumf %e, %y : f32
    %six = arith.constant 6.0 : f32
    %small = arith.minimumf %large, %six : f32
    loop.yield %small : f32
  }
  func.return
}
}
