// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C0
func.func @dynamic(%w: memref<?xf32>, %p: memref<4xf32>) {
  // expected-error @below {{'kernel.pack' C0: expected a static shape, found memref<?xf32>}}
  kernel.pack %w[i] to %p[i] : memref<?xf32>, memref<4xf32>
  func.return
}

// -----

// C1
func.func @types(%w: memref<4xf64>, %p: memref<4xf32>) {
  // expected-error @below {{'kernel.pack' C1: expected one element type, found f64 and f32}}
  kernel.pack %w[i] to %p[i] : memref<4xf64>, memref<4xf32>
  func.return
}

// -----

// C2, the source's rank
func.func @src_rank(%w: memref<20x3xf32>, %p: memref<2x3x16xf32>) {
  // expected-error @below {{'kernel.pack' C2: expected a map from 3 to 2 dimensions, found (d0, d1, d2) -> (d1)}}
  kernel.pack %w[i] to %p[o, i, v] : memref<20x3xf32>, memref<2x3x16xf32>
  func.return
}

// -----

// C2, the destination's rank
func.func @dst_rank(%w: memref<20x3xf32>, %p: memref<2x3x16xf32>) {
  // expected-error @below {{'kernel.pack' C2: expected a map from 3 to 2 dimensions, found (d0, d1) -> (d0, d1)}}
  kernel.pack %w[o, i] to %p[o, i] : memref<20x3xf32>, memref<2x3x16xf32>
  func.return
}

// -----

// C2, an index that is not linear
func.func @linear(%w: memref<4xf32>, %p: memref<8xf32>) {
  // expected-error @below {{'kernel.pack' C2: expected a linear index expression, found (d0 floordiv 2)}}
  "kernel.pack"(%w, %p) <{map = affine_map<(d0) -> (d0 floordiv 2)>}> : (memref<4xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

// C3
func.func @itself(%w: memref<4xf32>) {
  // expected-error @below {{'kernel.pack' C3: expected two buffers, found one}}
  kernel.pack %w[i] to %w[i] : memref<4xf32>, memref<4xf32>
  func.return
}

// -----

// An unknown iterator
func.func @unknown(%w: memref<20x3xf32>, %p: memref<2x3x16xf32>) {
  // expected-error @below {{expected the iterators ['o', 'i', 'v'], found 'j'}}
  kernel.pack %w[o, j] to %p[o, i, v] : memref<20x3xf32>, memref<2x3x16xf32>
  func.return
}

// -----

// One iterator twice
func.func @twice(%w: memref<20x3xf32>, %p: memref<2x3x16xf32>) {
  // expected-error @below {{expected distinct iterators, found ['o', 'i', 'i']}}
  kernel.pack %w[o, i] to %p[o, i, i] : memref<20x3xf32>, memref<2x3x16xf32>
  func.return
}

// -----

// C3, through a view
func.func @view(%w: memref<8xf32>) {
  %v = loop.reshape %w : memref<8xf32> to memref<2x4xf32>
  // expected-error @below {{'kernel.pack' C3: expected two buffers, found one}}
  kernel.pack %w[i * 4 + j] to %v[i, j] : memref<8xf32>, memref<2x4xf32>
  func.return
}

// -----

// C3 is about elements: two halves of one buffer
func.func @halves(%w: memref<8xf32>) {
  %a = memref.subview %w[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  %b = memref.subview %w[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  kernel.pack %a[i] to %b[i] : memref<4xf32, strided<[1]>>, memref<4xf32, strided<[1], offset: 4>>
  func.return
}
