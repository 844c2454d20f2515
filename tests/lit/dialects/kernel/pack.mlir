// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// Iterators print as `d0`, `d1`, ...
// CHECK-LABEL: func.func @blocks(
// CHECK-NEXT: kernel.pack %w[d0 * 16 + d2, d1] to %p[d0, d1, d2] : memref<20x3xf32>, memref<2x3x16xf32>
func.func @blocks(%w: memref<20x3xf32>, %p: memref<2x3x16xf32>) {
  kernel.pack %w[o * 16 + v, i] to %p[o, i, v] : memref<20x3xf32>, memref<2x3x16xf32>
  func.return
}

// CHECK-LABEL: func.func @canonical(
// CHECK-NEXT: kernel.pack %w[-d0 * 2 + d2 - 1, 1] to %p[d0, d1, d2] {note} : memref<20x3xf32>, memref<2x3x16xf32>
func.func @canonical(%w: memref<20x3xf32>, %p: memref<2x3x16xf32>) {
  kernel.pack %w[-d0 * 2 + d2 - 1, 1] to %p[d0, d1, d2] {note} : memref<20x3xf32>, memref<2x3x16xf32>
  func.return
}

// Terms come in any order, and add up.
// CHECK-LABEL: func.func @terms(
// CHECK-NEXT: kernel.pack %w[d0 + d2 + 2, 2] to %p[d0, d1, d2] : memref<20x3xf32>, memref<2x3x16xf32>
func.func @terms(%w: memref<20x3xf32>, %p: memref<2x3x16xf32>) {
  kernel.pack %w[2 - v * -2 + o - v, 1 + 1] to %p[o, i, v] : memref<20x3xf32>, memref<2x3x16xf32>
  func.return
}

// One element, everywhere; strides.
// CHECK-LABEL: func.func @fill(
// CHECK-NEXT: kernel.pack %s[] to %p[d0, d1] : memref<f32>, memref<2x3xf32, strided<[1, 2], offset: 4>>
func.func @fill(%s: memref<f32>, %p: memref<2x3xf32, strided<[1, 2], offset: 4>>) {
  kernel.pack %s[] to %p[d0, d1] : memref<f32>, memref<2x3xf32, strided<[1, 2], offset: 4>>
  func.return
}
