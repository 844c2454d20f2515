// RUN: inarch-opt %s -p 'sink-packs{always=true}' --split-input-file | filecheck %s
// RUN: inarch-opt %s -p sink-packs --split-input-file | filecheck %s --check-prefix=SMALL

// A panel of three columns in each iteration; what is written moves with it, what all iterations read does not.
// SMALL-NOT: loop.for
// CHECK-LABEL: func.func @main
// CHECK-NEXT: loop.for %n = 0 to 4 {
// CHECK-NEXT:   %p = loop.alloc : memref<5x3xf32>
// CHECK-NEXT:   %0 = arith.constant 3 : index
// CHECK-NEXT:   %1 = arith.muli %n, %0 : index
// CHECK-NEXT:   %b_1 = memref.subview %b[0, %1] [5, 3] [1, 1] : memref<5x12xf32> to memref<5x3xf32, strided<[12, 1], offset: ?>>
// CHECK-NEXT:   kernel.pack %b_1[d0, d1] to %p[d0, d1]
// CHECK:        %c_1 = memref.subview %c[0, %3] [6, 3] [1, 1]
// CHECK-NEXT:   kernel.call @tile for (m in 3) (%a[m * 10] strides [5, 1], %p[0] strides [3, 1], %c_1[m * 24] strides [12, 1]) sizes [5]
// CHECK-NEXT:   loop.yield
kernel.def @tile computes "for m in 2, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @main(%a: memref<6x5xf32>, %b: memref<5x12xf32>, %c: memref<6x12xf32> {inarch.result}) {
  %p = loop.alloc : memref<4x5x3xf32>
  kernel.pack %b[d1, d0 * 3 + d2] to %p[d0, d1, d2] : memref<5x12xf32>, memref<4x5x3xf32>
  kernel.call @tile for (n in 4, m in 3) (%a[m * 10] strides [5, 1], %p[n * 15] strides [3, 1], %c[n * 3 + m * 24] strides [12, 1]) sizes [5] : memref<6x5xf32>, memref<4x5x3xf32>, memref<6x12xf32>
  func.return
}

// -----

// All panels are read in each iteration of m: they are packed once.
// CHECK-LABEL: func.func @inner
// CHECK-NOT: loop.for
kernel.def @tile computes "for m in 2, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @inner(%a: memref<6x5xf32>, %b: memref<5x12xf32>, %c: memref<6x12xf32> {inarch.result}) {
  %p = loop.alloc : memref<4x5x3xf32>
  kernel.pack %b[d1, d0 * 3 + d2] to %p[d0, d1, d2] : memref<5x12xf32>, memref<4x5x3xf32>
  kernel.call @tile for (m in 3, n in 4) (%a[m * 10] strides [5, 1], %p[n * 15] strides [3, 1], %c[n * 3 + m * 24] strides [12, 1]) sizes [5] : memref<6x5xf32>, memref<4x5x3xf32>, memref<6x12xf32>
  func.return
}

// -----

// The last panel is padded with zeros, which a part of the source does not know.
// CHECK-LABEL: func.func @padded
// CHECK-NOT: loop.for
kernel.def @tile computes "for m in 2, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @padded(%a: memref<6x5xf32>, %b: memref<5x11xf32>, %c: memref<6x12xf32> {inarch.result}) {
  %p = loop.alloc : memref<4x5x3xf32>
  kernel.pack %b[d1, d0 * 3 + d2] to %p[d0, d1, d2] : memref<5x11xf32>, memref<4x5x3xf32>
  kernel.call @tile for (n in 4, m in 3) (%a[m * 10] strides [5, 1], %p[n * 15] strides [3, 1], %c[n * 3 + m * 24] strides [12, 1]) sizes [5] : memref<6x5xf32>, memref<4x5x3xf32>, memref<6x12xf32>
  func.return
}

// -----

// The source is written between, by somebody who reads what the panels are for.
// CHECK-LABEL: func.func @between
// CHECK-NOT: loop.for
kernel.def @tile computes "for m in 2, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @between(%a: memref<6x5xf32>, %b: memref<5x12xf32> {inarch.result}, %c: memref<6x12xf32> {inarch.result}) {
  %p = loop.alloc : memref<4x5x3xf32>
  kernel.pack %b[d1, d0 * 3 + d2] to %p[d0, d1, d2] : memref<5x12xf32>, memref<4x5x3xf32>
  loop.nest (i = 5, j = 12) outs(%b[i, j] : memref<5x12xf32>) {
  ^bb0(%o: f32):
    %r = arith.negf %o : f32
    loop.yield %r : f32
  }
  kernel.call @tile for (n in 4, m in 3) (%a[m * 10] strides [5, 1], %p[n * 15] strides [3, 1], %c[n * 3 + m * 24] strides [12, 1]) sizes [5] : memref<6x5xf32>, memref<4x5x3xf32>, memref<6x12xf32>
  func.return
}

// -----

// The schedule of this function is its author's.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: loop.for
kernel.def @tile computes "for m in 2, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @kept(%a: memref<6x5xf32>, %b: memref<5x12xf32>, %c: memref<6x12xf32> {inarch.result}) attributes {inarch.keep} {
  %p = loop.alloc : memref<4x5x3xf32>
  kernel.pack %b[d1, d0 * 3 + d2] to %p[d0, d1, d2] : memref<5x12xf32>, memref<4x5x3xf32>
  kernel.call @tile for (n in 4, m in 3) (%a[m * 10] strides [5, 1], %p[n * 15] strides [3, 1], %c[n * 3 + m * 24] strides [12, 1]) sizes [5] : memref<6x5xf32>, memref<4x5x3xf32>, memref<6x12xf32>
  func.return
}

// -----

// What is the same at each iteration of the loop that calls a body is packed once for all of them.
// CHECK-LABEL: func.func private @body
// CHECK-NOT: loop.for
kernel.def @tile computes "for m in 2, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func private @body(%a: memref<6x5xf32>, %b: memref<5x12xf32> {inarch.iterations = 20 : i64}, %c: memref<6x12xf32> {inarch.result}) attributes {inarch.body} {
  %p = loop.alloc : memref<4x5x3xf32>
  kernel.pack %b[d1, d0 * 3 + d2] to %p[d0, d1, d2] : memref<5x12xf32>, memref<4x5x3xf32>
  kernel.call @tile for (n in 4, m in 3) (%a[m * 10] strides [5, 1], %p[n * 15] strides [3, 1], %c[n * 3 + m * 24] strides [12, 1]) sizes [5] : memref<6x5xf32>, memref<4x5x3xf32>, memref<6x12xf32>
  func.return
}

// -----

// The calls write the buffer from which later panels are packed.
// CHECK-LABEL: func.func @source
// CHECK-NOT: loop.for
kernel.def @tile computes "for m in 2, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @source(%a: memref<6x5xf32>, %b: memref<6x12xf32> {inarch.result}) {
  %p = loop.alloc : memref<4x5x3xf32>
  kernel.pack %b[d1, d0 * 3 + d2] to %p[d0, d1, d2] : memref<6x12xf32>, memref<4x5x3xf32>
  kernel.call @tile for (n in 4, m in 3) (%a[m * 10] strides [5, 1], %p[n * 15] strides [3, 1], %b[n * 3 + m * 24] strides [12, 1]) sizes [5] : memref<6x5xf32>, memref<4x5x3xf32>, memref<6x12xf32>
  func.return
}

// -----

// Another call writes columns of the first one's: both panel loops run where the first one is.
// CHECK-LABEL: func.func @first
// CHECK: loop.for %n = 0 to 4
// CHECK: for (m in 2)
// CHECK: loop.yield
// CHECK: kernel.call @tile for (m in 2) (%a[m * 10] strides [5, 1], %q[0]
kernel.def @tile computes "for m in 2, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @first(%a: memref<6x5xf32>, %b: memref<5x12xf32>, %q: memref<5x3xf32>, %c: memref<6x12xf32> {inarch.result}) {
  %p = loop.alloc : memref<4x5x3xf32>
  kernel.pack %b[d1, d0 * 3 + d2] to %p[d0, d1, d2] : memref<5x12xf32>, memref<4x5x3xf32>
  kernel.call @tile for (n in 4, m in 2) (%a[m * 10] strides [5, 1], %p[n * 15] strides [3, 1], %c[n * 3 + m * 24] strides [12, 1]) sizes [5] : memref<6x5xf32>, memref<4x5x3xf32>, memref<6x12xf32>
  kernel.call @tile for (m in 2) (%a[m * 10] strides [5, 1], %q[0] strides [3, 1], %c[m * 24 + 9] strides [12, 1]) sizes [5] : memref<6x5xf32>, memref<5x3xf32>, memref<6x12xf32>
  kernel.call @tile for (n in 4, m in 1) (%a[m * 10 + 20] strides [5, 1], %p[n * 15] strides [3, 1], %c[n * 3 + m * 24 + 48] strides [12, 1]) sizes [5] : memref<6x5xf32>, memref<4x5x3xf32>, memref<6x12xf32>
  func.return
}
