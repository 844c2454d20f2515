// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1, no meaning
// expected-error @below {{'kernel.def' C1: computes:1:1: expected a meaning, found an empty one}}
kernel.def @gemm computes "" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"

// -----

// C1, an operand that is not named
// expected-error @below {{'kernel.def' C1: the meaning does not name operand B}}
kernel.def @gemm computes "for m in 4: C[m] += A[m] * BB[m]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"

// -----

// C2
// expected-error @below {{'kernel.def' C2: expected distinct operand names, found A, B, C, A}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>, #kernel.operand<A : f32 read rank 2 align 4>] needs [] source "x"

// -----

// C3, signedness
// expected-error @below {{'kernel.def' C3: expected operand C, which is written, of a signless dtype, found ui8}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : ui8 read rank 2 align 4>, #kernel.operand<C : ui8 update rank 2 align 4>] needs [] source "x"

// -----

// C3, the access
// expected-error @below {{'kernel.def' C3: expected an access of ('read', 'write', 'update') of operand B, found 'readwrite'}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 readwrite rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"

// -----

// C3, the rank
// expected-error @below {{'kernel.def' C3: expected operand B of rank >= 0, found -1}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank -1 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"

// -----

// C3, the alignment
// expected-error @below {{'kernel.def' C3: expected operand B aligned to a power of two, found 48}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 48>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"

// -----

// C3, no alignment
// expected-error @below {{'kernel.def' C3: expected operand B aligned to a power of two, found 0}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 0>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"

// -----

// C4, the access
// expected-error @below {{'kernel.def' C4: expected access update of operand C, found read}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 read rank 2 align 4>] needs [] source "x"

// -----

// C1, text that is no meaning
// expected-error @below {{'kernel.def' C1: computes:1:15: expected 'in', found '4'}}
kernel.def @gemm computes "for m in 4, n 4: C[m, n] += A[m, n]" arguments [] needs [] source "x"

// -----

// C1, an operand of the meaning that is missing
// expected-error @below {{'kernel.def' C1: expected operand B of the meaning, found none}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"

// -----

// C4, the rank
// expected-error @below {{'kernel.def' C4: expected operand B of rank 2, found 1}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 1 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"

// -----

// C7, a call of what?
// expected-error @below {{'kernel.def' C7: expected a call or a library with a symbol and without a source}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x" call "f({A})"

// -----

// C7, an argument that there is not
// expected-error @below {{'kernel.def' C7: expected one of C, A, B, K, C.strides[0], C.strides[1], A.strides[0], A.strides[1], B.strides[0], B.strides[1] in the call's braces, found 'D'}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] symbol "f" call "f({A}, {D})"

// -----

// C7, the link
// expected-error @below {{'kernel.def' C7: expected link "reference" or "embed", found "static"}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] symbol "f" library "libf.so" link "static"

// -----

// C5, neither
// expected-error @below {{'kernel.def' C5: expected a source or a symbol that is not empty}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] 

// -----

// C5, an empty source
// expected-error @below {{'kernel.def' C5: expected a source or a symbol that is not empty}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source " "

// -----

// C6
// expected-error @below {{'kernel.def' C6: expected features that are not empty}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs ["fma", ""] source "x"

// -----

// A name twice
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
// expected-error @below {{'kernel.def' redefines symbol @gemm}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"

// -----

// C8, an operand that nobody reads
// expected-error @below {{'kernel.def' C8: expected an operand that a source reads, found C}}
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 64>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x" ahead "C"
