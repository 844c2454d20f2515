// RUN: inarch-opt %s --split-input-file -p unfold-windows{always=true} | filecheck %s
// RUN: inarch-opt %s --split-input-file -p unfold-windows{always=true} --verify-semantics -o %t
// RUN: inarch-opt %s --split-input-file -p unfold-windows | filecheck %s --check-prefix=NONE

// A window over rows of an image: the matrix has a row for each term of the sum, a column for each pixel.
// CHECK-LABEL: @rows
// NONE-LABEL: @rows
// NONE-NOT: loop.alloc
func.func @rows(%x: memref<4x9x9xf32>, %w: memref<6x4x3x3xf32>, %y: memref<6x7x7xf32> {inarch.result}) {
  loop.nest (o = 6, h = 7, v = 7, c = 4 reduction, r = 3 reduction, s = 3 reduction) ins(%x[c, h + r, v + s] : memref<4x9x9xf32>, %w[o, c, r, s] : memref<6x4x3x3xf32>) outs(%y[o, h, v] init 0.0 : memref<6x7x7xf32>) {
  ^bb0(%a: f32, %e: f32, %acc: f32):
    %m = arith.mulf %a, %e : f32
    %t = arith.addf %acc, %m : f32
    loop.yield %t : f32
  }
  func.return
}
// CHECK:      %[[MATRIX:.*]] = loop.alloc : memref<4x3x3x7x7xf32>
// CHECK-NEXT: loop.nest (c = 4, r = 3, s = 3, h = 7, v = 7) ins(%x[c, r + h, s + v] : memref<4x9x9xf32>) outs(%[[MATRIX]][c, r, s, h, v] : memref<4x3x3x7x7xf32>)
// CHECK:      loop.nest (o = 6, h = 7, v = 7, c = 4 reduction, r = 3 reduction, s = 3 reduction) ins(%[[MATRIX]][c, r, s, h, v] : memref<4x3x3x7x7xf32>, %w[o, c, r, s] : memref<6x4x3x3xf32>) outs(%y[o, h, v] init 0.0 : memref<6x7x7xf32>)
// CHECK-NOT:  loop.nest

// -----

// Channels last: a row for each pixel, and what is summed in the order of the weights. Each second pixel is read.
// CHECK-LABEL: @channels_last
func.func @channels_last(%x: memref<9x9x4xf32>, %w: memref<3x3x4x6xf32>, %y: memref<4x4x6xf32> {inarch.result}) {
  loop.nest (h = 4, v = 4, o = 6, c = 4 reduction, r = 3 reduction, s = 3 reduction) ins(%x[h * 2 + r, v * 2 + s, c] : memref<9x9x4xf32>, %w[r, s, c, o] : memref<3x3x4x6xf32>) outs(%y[h, v, o] init 0.0 : memref<4x4x6xf32>) {
  ^bb0(%a: f32, %e: f32, %acc: f32):
    %m = arith.mulf %a, %e : f32
    %t = arith.addf %acc, %m : f32
    loop.yield %t : f32
  }
  func.return
}
// CHECK:      %[[MATRIX:.*]] = loop.alloc : memref<4x4x3x3x4xf32>
// CHECK-NEXT: loop.nest (h = 4, v = 4, r = 3, s = 3, c = 4) ins(%x[h * 2 + r, v * 2 + s, c] : memref<9x9x4xf32>) outs(%[[MATRIX]][h, v, r, s, c] : memref<4x4x3x3x4xf32>)

// -----

// Groups come first; the one with the fewest columns is whole.
// CHECK-LABEL: @groups
func.func @groups(%x: memref<2x2x6x6xf32>, %w: memref<2x3x2x3x3xf32>, %y: memref<2x3x4x4xf32> {inarch.result}) {
  loop.nest (g = 2, o = 3, h = 4, v = 4, c = 2 reduction, r = 3 reduction, s = 3 reduction) ins(%x[g, c, h + r, v + s] : memref<2x2x6x6xf32>, %w[g, o, c, r, s] : memref<2x3x2x3x3xf32>) outs(%y[g, o, h, v] init 0.0 : memref<2x3x4x4xf32>) {
  ^bb0(%a: f32, %e: f32, %acc: f32):
    %m = arith.mulf %a, %e : f32
    %t = arith.addf %acc, %m : f32
    loop.yield %t : f32
  }
  func.return
}
// CHECK:      %[[MATRIX:.*]] = loop.alloc : memref<2x2x3x3x4x4xf32>

// -----

// A matrix of 1.1 MiB is made in blocks of rows of the image.
module attributes {inarch.target = "x86-64-v3", inarch.machine = "zen3", inarch.microkernels = ["gemm-f32"]} {
// NONE-LABEL: @blocks
// CHECK-LABEL: @blocks
func.func @blocks(%x: memref<8x66x66xf32>, %w: memref<32x8x3x3xf32>, %y: memref<32x64x64xf32> {inarch.result}) {
  loop.nest (o = 32, h = 64, v = 64, c = 8 reduction, r = 3 reduction, s = 3 reduction) ins(%x[c, h + r, v + s] : memref<8x66x66xf32>, %w[o, c, r, s] : memref<32x8x3x3xf32>) outs(%y[o, h, v] init 0.0 : memref<32x64x64xf32>) {
  ^bb0(%a: f32, %e: f32, %acc: f32):
    %m = arith.mulf %a, %e : f32
    %t = arith.addf %acc, %m : f32
    loop.yield %t : f32
  }
  func.return
}
}
// CHECK:      loop.alloc : memref<8x3x3x12x64xf32>
// CHECK-NEXT: loop.nest (c = 8, r = 3, s = 3, h = 12, v = 64) ins(%x[c, r + h, s + v] : memref<8x66x66xf32>)
// CHECK:      loop.nest (o = 32, h = 12, v = 64, {{.*}} outs(%y[o, h, v] init 0.0 : memref<32x64x64xf32>)
// CHECK:      loop.nest (c = 8, r = 3, s = 3, h = 13, v = 64) ins(%x[c, r + h + 51, s + v] : memref<8x66x66xf32>)
// CHECK:      loop.nest (o = 32, h = 13, v = 64, {{.*}} outs(%y[o, h + 51, v] init 0.0 : memref<32x64x64xf32>)
// CHECK-NOT:  loop.nest

// -----

// What lies in order already, a pad, and a constant image are left alone.
// CHECK-LABEL: @others
// CHECK-NOT: loop.alloc
func.func @others(%x: memref<9x9x4xf32>, %d: memref<49x8xf32>, %w: memref<8x6xf32>, %k: memref<3x3x4x6xf32>, %f: memref<49x6xf32> {inarch.result}, %z: memref<9x9x6xf32> {inarch.result}) {
  loop.nest (p = 49, n = 6, k = 8 reduction) ins(%d[p, k] : memref<49x8xf32>, %w[k, n] : memref<8x6xf32>) outs(%f[p, n] init 0.0 : memref<49x6xf32>) {
  ^bb0(%a: f32, %e: f32, %acc: f32):
    %m = arith.mulf %a, %e : f32
    %t = arith.addf %acc, %m : f32
    loop.yield %t : f32
  }
  loop.nest (h = 9, v = 9, o = 6, c = 4 reduction, r = 3 reduction, s = 3 reduction) ins(%x[h + r - 1, v + s - 1, c] pad 0.0 : memref<9x9x4xf32>, %k[r, s, c, o] : memref<3x3x4x6xf32>) outs(%z[h, v, o] init 0.0 : memref<9x9x6xf32>) {
  ^bb0(%a: f32, %e: f32, %acc: f32):
    %m = arith.mulf %a, %e : f32
    %t = arith.addf %acc, %m : f32
    loop.yield %t : f32
  }
  func.return
}
