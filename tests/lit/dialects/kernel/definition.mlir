// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// A kernel in C: escapes are kept.
// CHECK: kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs ["avx512f", "fma"] source "void gemm(void);\0A"
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs ["avx512f", "fma"] source "void gemm(void);\0A"

// A kernel in a library.
// CHECK: kernel.def @copy computes "for i in N: C[i] = A[i]" arguments [#kernel.operand<A : i8 read rank 1 align 1>, #kernel.operand<C : i8 write rank 1 align 1>] needs [] symbol "memmove" {note = 1 : i64}
kernel.def @copy computes "for i in N: C[i] = A[i]" arguments [#kernel.operand<A : i8 read rank 1 align 1>, #kernel.operand<C : i8 write rank 1 align 1>] needs [] symbol "memmove" {note = 1 : i64}

// C whose function has another name.
// CHECK: kernel.def @both computes "C[] = 0" arguments [#kernel.operand<C : f64 write rank 0 align 8>] needs [] source "void f(double *c) { *c = 0; }" symbol "f"
kernel.def @both computes "C[] = 0" arguments [#kernel.operand<C : f64 write rank 0 align 8>] needs [] source "void f(double *c) { *c = 0; }" symbol "f"

// A library's function, called in its own way (K12).
// CHECK: kernel.def @blas computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] symbol "cblas_sgemm" call "cblas_sgemm(101, 111, 111, 4, 16, {K}, 1.f, {A}, {A.strides[0]}, {B}, {B.strides[0]}, 1.f, {C}, {C.strides[0]})" declare "#include <cblas.h>" library "libcblas.so" link "embed" libraries ["m"] include_dirs ["include"] cflags ["-DX"]
kernel.def @blas computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] symbol "cblas_sgemm" call "cblas_sgemm(101, 111, 111, 4, 16, {K}, 1.f, {A}, {A.strides[0]}, {B}, {B.strides[0]}, 1.f, {C}, {C.strides[0]})" declare "#include <cblas.h>" library "libcblas.so" link "embed" libraries ["m"] include_dirs ["include"] cflags ["-DX"]

// A second function that prefetches.
// CHECK: kernel.def @ahead computes "for k in K: C[] += B[k]" arguments [#kernel.operand<B : f32 read rank 1 align 4>, #kernel.operand<C : f32 update rank 0 align 4>] needs [] source "x" ahead "B"
kernel.def @ahead computes "for k in K: C[] += B[k]" arguments [#kernel.operand<B : f32 read rank 1 align 4>, #kernel.operand<C : f32 update rank 0 align 4>] needs [] source "x" ahead "B"
