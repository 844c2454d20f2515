// RUN: inarch-opt %s -p 'block-calls{iterations=2}' --split-input-file | filecheck %s
// RUN: inarch-opt %s -p 'block-calls{iterations=2 panels=3}' --split-input-file | filecheck %s --check-prefix=PANELS
// RUN: inarch-opt %s -p block-calls --split-input-file | filecheck %s --check-prefix=SMALL

// Five iterations of m: two blocks of two, and one more. The caches hold all five anyway.
// Four panels: a block of three, and one more; each is packed before its calls.
// PANELS-LABEL: func.func @main
// PANELS-NEXT: %p = loop.alloc : memref<3x5x3xf32>
// PANELS-NEXT: kernel.pack %b[d1, d0 * 3 + d2] to %p[d0, d1, d2]
// PANELS-NEXT: kernel.call @tile for (mo in 2, n in 3, m in 2)
// PANELS-NEXT: kernel.call @tile for (n in 3, m in 1)
// PANELS-NEXT: %p_1 = loop.alloc : memref<1x5x3xf32>
// PANELS-NEXT: kernel.pack %b[d1, d0 * 3 + d2 + 9] to %p_1[d0, d1, d2]
// PANELS-NEXT: kernel.call @tile for (mo in 2, n in 1, m in 2) (%a[mo * 20 + m * 10] strides [5, 1], %p_1[n * 15] strides [3, 1], %c[mo * 48 + n * 3 + m * 24 + 9]
// PANELS-NEXT: kernel.call @tile for (n in 1, m in 1)
// SMALL-LABEL: func.func @main
// SMALL: kernel.call @tile for (n in 4, m in 5)
// SMALL-NEXT: func.return
// CHECK-LABEL: func.func @main
// CHECK: kernel.call @tile for (mo in 2, n in 4, m in 2) (%a[mo * 20 + m * 10] strides [5, 1], %p[n * 15] strides [3, 1], %c[mo * 48 + n * 3 + m * 24] strides [12, 1]) sizes [5]
// CHECK-NEXT: kernel.call @tile for (n in 4, m in 1) (%a[m * 10 + 40] strides [5, 1], %p[n * 15] strides [3, 1], %c[n * 3 + m * 24 + 96] strides [12, 1]) sizes [5]
// CHECK-NEXT: func.return
kernel.def @tile computes "for m in 2, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @main(%a: memref<10x5xf32>, %b: memref<5x12xf32>, %c: memref<10x12xf32> {inarch.result}) {
  %p = loop.alloc : memref<4x5x3xf32>
  kernel.pack %b[d1, d0 * 3 + d2] to %p[d0, d1, d2] : memref<5x12xf32>, memref<4x5x3xf32>
  kernel.call @tile for (n in 4, m in 5) (%a[m * 10] strides [5, 1], %p[n * 15] strides [3, 1], %c[n * 3 + m * 24] strides [12, 1]) sizes [5] : memref<10x5xf32>, memref<4x5x3xf32>, memref<10x12xf32>
  func.return
}

// -----

// Each panel is read in every iteration of m: no block stays in the caches.
// CHECK-LABEL: func.func @inner
// CHECK: for (m in 5, n in 4)
kernel.def @tile computes "for m in 2, l in 3, k in K: C[m, l] += A[m, k] * B[k, l]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
func.func @inner(%a: memref<10x5xf32>, %b: memref<5x12xf32>, %c: memref<10x12xf32> {inarch.result}) {
  %p = loop.alloc : memref<4x5x3xf32>
  kernel.pack %b[d1, d0 * 3 + d2] to %p[d0, d1, d2] : memref<5x12xf32>, memref<4x5x3xf32>
  kernel.call @tile for (m in 5, n in 4) (%a[m * 10] strides [5, 1], %p[n * 15] strides [3, 1], %c[n * 3 + m * 24] strides [12, 1]) sizes [5] : memref<10x5xf32>, memref<4x5x3xf32>, memref<10x12xf32>
  func.return
}
