// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C0
func.func @dynamic(%a: memref<?xf32>) {
  // expected-error @below {{'kernel.call' C0: expected a static shape, found memref<?xf32>}}
  kernel.call @dynamic(%a[0] strides [1]) sizes [8] : memref<?xf32>
  func.return
}

// -----

// C0, strides
func.func @strides(%a: memref<8xf32, strided<[?]>>) {
  // expected-error @below {{'kernel.call' C0: expected static strides, found memref<8xf32, strided<[?]>>}}
  kernel.call @strides(%a[0] strides [1]) sizes [8] : memref<8xf32, strided<[?]>>
  func.return
}

// -----

// C1, a size
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @sizes(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C1: expected sizes >= 0, found [-1, 4, 2, 3]}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [-1] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C1, one name twice
func.func @names(%a: memref<8xf32>) {
  // expected-error @below {{'kernel.call' C1: expected distinct iterators, found i, i}}
  kernel.call @names for (i in 2, i in 3) (%a[i] strides [1]) sizes [8] : memref<8xf32>
  func.return
}

// -----

// C1, a mode
func.func @modes(%a: memref<8xf32>) {
  // expected-error @below {{'kernel.call' C1: expected iterators that are serial or parallel}}
  "kernel.call"(%a) <{callee = @modes, iterators = [#loop.iterator<i = 2 unroll>], offsets = [affine_map<(d0) -> (d0)>], strides = [array<i64: 1>], sizes = array<i64>}> : (memref<8xf32>) -> ()
  func.return
}

// -----

// C1, a scan
func.func @scans(%a: memref<8xf32>) {
  // expected-error @below {{'kernel.call' C1: expected parallel iterators and reductions, found the scan i}}
  "kernel.call"(%a) <{callee = @scans, iterators = [#loop.iterator<i = 2 scan>], offsets = [affine_map<(d0) -> (d0)>], strides = [array<i64: 1>], sizes = array<i64>}> : (memref<8xf32>) -> ()
  func.return
}

// -----

// C2, no operand
func.func @nothing() {
  // expected-error @below {{'kernel.call' C2: expected at least one operand, found none}}
  kernel.call @nothing() sizes [8] :
  func.return
}

// -----

// C2, the lists
func.func @lists(%a: memref<8xf32>) {
  // expected-error @below {{'kernel.call' C2: expected 1 offsets and lists of strides, found (1, 0)}}
  "kernel.call"(%a) <{callee = @lists, iterators = [], offsets = [affine_map<() -> (0)>], strides = [], sizes = array<i64>}> : (memref<8xf32>) -> ()
  func.return
}

// -----

// C3, an offset over other iterators
func.func @shape(%a: memref<8xf32>) {
  // expected-error @below {{'kernel.call' C3: expected an offset over 0 iterators, found (d0) -> (d0)}}
  "kernel.call"(%a) <{callee = @shape, iterators = [], offsets = [affine_map<(d0) -> (d0)>], strides = [array<i64: 1>], sizes = array<i64>}> : (memref<8xf32>) -> ()
  func.return
}

// -----

// C3, an offset that is not linear
func.func @linear(%a: memref<8xf32>) {
  // expected-error @below {{'kernel.call' C3: expected a linear index expression, found (d0 floordiv 2)}}
  "kernel.call"(%a) <{callee = @linear, iterators = [#loop.iterator<i = 2>], offsets = [affine_map<(d0) -> (d0 floordiv 2)>], strides = [array<i64: 1>], sizes = array<i64>}> : (memref<8xf32>) -> ()
  func.return
}

// -----

// C4, what is called
func.func @function(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C4: expected a kernel.def, found 'func.func' @function}}
  kernel.call @function for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C4, operands
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @arity(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C4: expected 3 operands, found 1}}
  kernel.call @gemm(%a[0] strides [1, 1]) sizes [8] : memref<16x24xf32>
  func.return
}

// -----

// C4, the type
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @dtype(%a: memref<16x24xf32>, %b: memref<24x32xf64>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C4: expected operand B of type f32, found memref<24x32xf64>}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf64>, memref<16x32xf32>
  func.return
}

// -----

// C4, the rank
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @rank(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C4: expected 2 strides of operand A, found [24]}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C4, the sizes
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @free(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C4: expected sizes of K, found []}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C5, parallel
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @parallel(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C5: operand C is written and does not use parallel iterator j}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C5, reduction
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @reduction(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C5: operand C is written and uses reduction iterator k}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16 + k] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C5, a reduction that starts again
kernel.def @fresh computes "for m in 4, n in 16: C[m, n] = 0; for k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 write rank 2 align 4>] needs [] source "x"
func.func @again(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C5: reduction k overwrites operand C, which the kernel begins anew}}
  kernel.call @fresh for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C6, beyond the end by the size of the call
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @end(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C6: operand A touches elements 0 to 384, outside of memref<16x24xf32>, which has 0 to 383}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [9] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C6, beyond the end by a loop
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @loop(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C6: operand B touches elements 0 to 1023, outside of memref<24x32xf32>, which has 0 to 767}}
  kernel.call @gemm for (i in 4, j in 2, k in 4 reduction) (%a[i * 96] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C6, beyond the end by the strides
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @far(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C6: operand C touches elements 0 to 513, outside of memref<16x32xf32>, which has 0 to 511}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 15] strides [33, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C6, before the start
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @before(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C6: operand A touches elements -1 to 382, outside of memref<16x24xf32>, which has 0 to 383}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8 - 1] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C6, outside of a view
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @view(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<15x32xf32, strided<[32, 1], offset: 32>>) {
  // expected-error @below {{'kernel.call' C6: operand C touches elements 0 to 511, outside of memref<15x32xf32, strided<[32, 1], offset: 32>>, which has 0 to 479}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<15x32xf32, strided<[32, 1], offset: 32>>
  func.return
}

// -----

// C7
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @overlap(%b: memref<24x32xf32>, %c: memref<32x32xf32>) {
  // expected-error @below {{'kernel.call' C7: operand A touches elements 511 to 894 of the buffer in which operand C is written, 0 to 511}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%c[i * 96 + k * 8 + 511] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<32x32xf32>, memref<24x32xf32>, memref<32x32xf32>
  func.return
}

// -----

// C7 is about elements: one buffer, disjoint parts
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @disjoint(%b: memref<24x32xf32>, %c: memref<32x32xf32>) {
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%c[i * 96 + k * 8 + 512] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<32x32xf32>, memref<24x32xf32>, memref<32x32xf32>
  func.return
}

// -----

// A callee that is not there
func.func @missing(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' callee refers to no symbol @gemm; known: @missing}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// A loop that is not there
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @unknown(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{no iterator 'q'}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%a[q] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C7, through views of one buffer
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @views(%b: memref<24x32xf32>, %c: memref<32x32xf32>) {
  %v = loop.reshape %c : memref<32x32xf32> to memref<1024xf32>
  %w = memref.subview %c[16, 0] [16, 32] [1, 1] : memref<32x32xf32> to memref<16x32xf32, strided<[32, 1], offset: 512>>
  // expected-error @below {{'kernel.call' C7: operand A touches elements 640 to 1023 of the buffer in which operand C is written, 512 to 1023}}
  kernel.call @gemm for (i in 4, j in 2, k in 3 reduction) (%v[i * 96 + k * 8 + 640] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %w[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<1024xf32>, memref<24x32xf32>, memref<16x32xf32, strided<[32, 1], offset: 512>>
  func.return
}

// -----

// C7, views of one buffer that have no element in common: the left and the right half of each row
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @columns(%b: memref<8x16xf32>, %c: memref<4x32xf32>) {
  %v = loop.reshape %c : memref<4x32xf32> to memref<128xf32>
  kernel.call @gemm (%v[8] strides [32, 1], %b[0] strides [16, 1], %c[16] strides [32, 1]) sizes [8] : memref<128xf32>, memref<8x16xf32>, memref<4x32xf32>
  func.return
}

// -----

// C7, and the first column in common
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @column(%b: memref<8x16xf32>, %c: memref<4x32xf32>) {
  %v = loop.reshape %c : memref<4x32xf32> to memref<128xf32>
  // expected-error @below {{'kernel.call' C7: operand A touches elements 9 to 112 of the buffer in which operand C is written, 16 to 127}}
  kernel.call @gemm (%v[9] strides [32, 1], %b[0] strides [16, 1], %c[16] strides [32, 1]) sizes [8] : memref<128xf32>, memref<8x16xf32>, memref<4x32xf32>
  func.return
}

// -----

// C1, two loops that threads share
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @two(%a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{'kernel.call' C1: expected one parallel iterator at most, found also j}}
  kernel.call @gemm for (i in 4 parallel, j in 2 parallel, k in 3 reduction) (%a[i * 96 + k * 8] strides [24, 1], %b[k * 256 + j * 16] strides [32, 1], %c[i * 128 + j * 16] strides [32, 1]) sizes [8] : memref<16x24xf32>, memref<24x32xf32>, memref<16x32xf32>
  func.return
}

// -----

// C8, tiles of 4 rows, 3 rows apart
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @rows(%a: memref<16x24xf32>, %b: memref<24x16xf32>, %c: memref<16x16xf32>) {
  // expected-error @below {{'kernel.call' C8: two iterations of parallel iterator i write one element of operand C}}
  kernel.call @gemm for (i in 4 parallel) (%a[i * 72] strides [24, 1], %b[0] strides [16, 1], %c[i * 48] strides [16, 1]) sizes [24] : memref<16x24xf32>, memref<24x16xf32>, memref<16x16xf32>
  func.return
}

// -----

// C8, columns of 16, 8 apart
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @columns(%a: memref<4x24xf32>, %b: memref<24x24xf32>, %c: memref<4x24xf32>) {
  // expected-error @below {{'kernel.call' C8: two iterations of parallel iterator j write one element of operand C}}
  kernel.call @gemm for (j in 2 parallel) (%a[0] strides [24, 1], %b[j * 8] strides [24, 1], %c[j * 8] strides [24, 1]) sizes [24] : memref<4x24xf32>, memref<24x24xf32>, memref<4x24xf32>
  func.return
}

// -----

// C8, the rows of 16 elements are 10 apart: the third of a row is the first of the next one
kernel.def @copy computes "for i in 4: Y[i] = X[i]" arguments [#kernel.operand<X : f32 read rank 1 align 4>, #kernel.operand<Y : f32 write rank 1 align 4>] needs [] source "x"
func.func @next_row(%x: memref<32xf32>, %y: memref<32xf32>) {
  // expected-error @below {{'kernel.call' C8: two iterations of parallel iterator j write one element of operand Y}}
  kernel.call @copy for (i in 2, j in 4 parallel) (%x[i * 16 + j * 4] strides [1], %y[i * 10 + j * 4] strides [1]) sizes [] : memref<32xf32>, memref<32xf32>
  func.return
}
