/* A library under development: C += A B in float32 for matrices of any size, rows of dense elements.

   cc -O3 -march=native -shared -fPIC gemm_library.c -o libgemm.so

MR is how many rows of C are in registers at a time. `gemm_library` is called by symbol; the function
registry takes `gemm_tensors`, the same on tensors: the inputs, then the output. */

#include <inarch.h>

#ifndef MR
#define MR 8
#endif
#define EXPORT __attribute__((visibility("default")))

/* `rows` of at most MR rows by a vector of C; constants once it is inlined. */
#define TILE(NR)                                                                                   \
    static inline __attribute__((always_inline)) void tile##NR(                                    \
        int rows, const float *A, const float *B, float *C, int64_t lda, int64_t ldb, int64_t ldc, \
        int64_t K)                                                                                 \
    {                                                                                              \
        typedef float row __attribute__((vector_size(4 * NR), aligned(4)));                        \
        row c[MR];                                                                                 \
        for (int m = 0; m < rows; m++)                                                             \
            c[m] = *(const row *)(C + m * ldc);                                                    \
        for (int64_t k = 0; k < K; k++) {                                                          \
            row b = *(const row *)(B + k * ldb);                                                   \
            for (int m = 0; m < rows; m++)                                                         \
                c[m] += A[m * lda + k] * b;                                                        \
        }                                                                                          \
        for (int m = 0; m < rows; m++)                                                             \
            *(row *)(C + m * ldc) = c[m];                                                          \
    }

TILE(16)
TILE(8)
TILE(1)

/* Columns of C from `n` on, as long as there are NR of them. */
#define COLUMNS(NR)                                                              \
    for (; n + NR <= N; n += NR) {                                               \
        int64_t m = 0;                                                           \
        for (; m + MR <= M; m += MR)                                             \
            tile##NR(MR, A + m * lda, B + n, C + m * ldc + n, lda, ldb, ldc, K); \
        for (; m < M; m++)                                                       \
            tile##NR(1, A + m * lda, B + n, C + m * ldc + n, lda, ldb, ldc, K);  \
    }

EXPORT void gemm_library(const float *A, const float *B, float *C, int64_t lda, int64_t ldb,
                         int64_t ldc, int64_t M, int64_t N, int64_t K)
{
    int64_t n = 0;
    COLUMNS(16)
    COLUMNS(8)
    COLUMNS(1)
}

EXPORT int32_t gemm_tensors(void *self, DLTensor *args, int32_t n)
{
    const DLTensor *A = &args[0], *B = &args[1], *C = &args[2];
    (void)self;
    if (n != 3 || A->strides[1] != 1 || B->strides[1] != 1 || C->strides[1] != 1)
        return 1;
    gemm_library((const float *)((char *)A->data + A->byte_offset),
                 (const float *)((char *)B->data + B->byte_offset),
                 (float *)((char *)C->data + C->byte_offset), A->strides[0], B->strides[0],
                 C->strides[0], A->shape[0], B->shape[1], A->shape[1]);
    return 0;
}
