// RUN: inarch-opt %s --split-input-file -p split-dilation | filecheck %s

// CHECK-LABEL: @every_second_pixel
func.func @every_second_pixel(%x: memref<13x8xf32>, %w: memref<3x8xf32>, %y: memref<9x8xf32>) {
  loop.nest (p = 9, c = 8, r = 3 reduction) ins(%x[p + r * 2, c] : memref<13x8xf32>, %w[r, c] : memref<3x8xf32>) outs(%y[p, c] init 0.0 : memref<9x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (p = 5, c = 8, r = 3 reduction) ins(%x[p * 2 + r * 2, c] : memref<13x8xf32>, %w[r, c] : memref<3x8xf32>) outs(%y[p * 2, c] init 0.0 : memref<9x8xf32>) {
// CHECK:      loop.nest (p = 4, c = 8, r = 3 reduction) ins(%x[p * 2 + r * 2 + 1, c] : memref<13x8xf32>, %w[r, c] : memref<3x8xf32>) outs(%y[p * 2 + 1, c] init 0.0 : memref<9x8xf32>) {
// CHECK-NOT:  loop.nest

// -----

// Steps of 2 over a dilation of 3: windows three points apart share taps.
// CHECK-LABEL: @every_third_of_every_second
func.func @every_third_of_every_second(%x: memref<17x8xf32>, %w: memref<3x8xf32>, %y: memref<6x8xf32>) {
  loop.nest (p = 6, c = 8, r = 3 reduction) ins(%x[p * 2 + r * 3, c] : memref<17x8xf32>, %w[r, c] : memref<3x8xf32>) outs(%y[p, c] init 0.0 : memref<6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (p = 2, c = 8, r = 3 reduction) ins(%x[p * 6 + r * 3, c]
// CHECK:      loop.nest (p = 2, c = 8, r = 3 reduction) ins(%x[p * 6 + r * 3 + 2, c]
// CHECK:      loop.nest (p = 2, c = 8, r = 3 reduction) ins(%x[p * 6 + r * 3 + 4, c]
// CHECK-NOT:  loop.nest

// -----

// Vectors run over the pixels.
// CHECK-LABEL: @keeps_rows
func.func @keeps_rows(%x: memref<8x13xf32>, %w: memref<8x3xf32>, %y: memref<8x9xf32>) {
  loop.nest (c = 8, p = 9, r = 3 reduction) ins(%x[c, p + r * 2] : memref<8x13xf32>, %w[c, r] : memref<8x3xf32>) outs(%y[c, p] init 0.0 : memref<8x9xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (c = 8, p = 9, r = 3 reduction)
// CHECK-NOT:  loop.nest

// -----

// Its outputs share what it reads.
// CHECK-LABEL: @keeps_a_convolution
func.func @keeps_a_convolution(%x: memref<13x8xf32>, %w: memref<3x8x4xf32>, %y: memref<9x4xf32>) {
  loop.nest (p = 9, o = 4, r = 3 reduction, c = 8 reduction) ins(%x[p + r * 2, c] : memref<13x8xf32>, %w[r, c, o] : memref<3x8x4xf32>) outs(%y[p, o] init 0.0 : memref<9x4xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (p = 9, o = 4, r = 3 reduction, c = 8 reduction)
// CHECK-NOT:  loop.nest
