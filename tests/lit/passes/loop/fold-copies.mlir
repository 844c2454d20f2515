// RUN: inarch-opt %s -p fold-copies --split-input-file | filecheck %s

// A transposed matrix that is packed in tiles of two columns, the last of which is padded.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: kernel.pack %b[d0 * 2 + d2, d1] to %p[d0, d1, d2] : memref<7x5xf32>, memref<4x5x2xf32>
// CHECK-NEXT: func.return
func.func @main(%b: memref<7x5xf32>, %p: memref<4x5x2xf32> {inarch.result}) {
  %t = loop.alloc : memref<5x7xf32>
  loop.nest (i = 5, j = 7) ins(%b[j, i] : memref<7x5xf32>) outs(%t[i, j] : memref<5x7xf32>) {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  }
  kernel.pack %t[d1, d0 * 2 + d2] to %p[d0, d1, d2] : memref<5x7xf32>, memref<4x5x2xf32>
  func.return
}

// -----

// The copy leaves out the last row of the source, which the padded tile would read.
// CHECK-LABEL: func.func @cut
// CHECK: loop.nest
func.func @cut(%b: memref<8x5xf32>, %p: memref<4x5x2xf32> {inarch.result}) {
  %t = loop.alloc : memref<5x7xf32>
  loop.nest (i = 5, j = 7) ins(%b[j, i] : memref<8x5xf32>) outs(%t[i, j] : memref<5x7xf32>) {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  }
  kernel.pack %t[d1, d0 * 2 + d2] to %p[d0, d1, d2] : memref<5x7xf32>, memref<4x5x2xf32>
  func.return
}

// -----

// The schedule of this copy is its author's.
// CHECK-LABEL: func.func @kept
// CHECK: loop.nest
func.func @kept(%b: memref<7x5xf32>, %p: memref<4x5x2xf32> {inarch.result}) {
  %t = loop.alloc : memref<5x7xf32>
  loop.nest (i = 5, j = 7) ins(%b[j, i] : memref<7x5xf32>) outs(%t[i, j] : memref<5x7xf32>) attributes {inarch.keep} {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  }
  kernel.pack %t[d1, d0 * 2 + d2] to %p[d0, d1, d2] : memref<5x7xf32>, memref<4x5x2xf32>
  func.return
}
