// RUN: inarch-opt %s --split-input-file -p join-rows{always=true} | filecheck %s
// RUN: inarch-opt %s --split-input-file -p join-rows{always=true} --verify-semantics -o %t
// RUN: inarch-opt %s --split-input-file -p join-rows --verify-diagnostics --remarks -o %t

module attributes {inarch.target = "x86-64-v3"} {
// Rows of every second pixel, written into a frame: 49 pixels one after the other.
// CHECK-LABEL: @strided
func.func @strided(%x: memref<128x14x14x8xf32>, %w: memref<64x128x8x8xf32>, %b: memref<512xf32>, %y: memref<64x9x9x8xf32>) {
  // expected-remark @below {{[join-rows] rows in order: the image and the output copied;}}
  loop.nest (o = 64, h = 7, v = 7, n = 8, c = 128 reduction, k = 8 reduction) ins(%x[c, h * 2, v * 2, k] : memref<128x14x14x8xf32>, %w[o, c, k, n] : memref<64x128x8x8xf32>, %b[o * 8 + n] : memref<512xf32>) outs(%y[o, h + 1, v + 1, n] init 0.0 : memref<64x9x9x8xf32>) {
  ^bb0(%a: f32, %e: f32, %s: f32, %acc: f32):
    %m = arith.mulf %a, %e : f32
    %t = arith.addf %acc, %m : f32
    loop.yield %t : f32
  } finish {
  ^bb0(%a: f32, %e: f32, %s: f32, %acc: f32):
    %t = arith.addf %acc, %s : f32
    loop.yield %t : f32
  }
  func.return
}
// CHECK:      %[[IMAGE:.*]] = loop.alloc : memref<128x7x7x8xf32>
// CHECK-NEXT: loop.nest (c = 128, h = 7, v = 7, k = 8) ins(%x[c, h * 2, v * 2, k] : memref<128x14x14x8xf32>) outs(%[[IMAGE]][c, h, v, k] : memref<128x7x7x8xf32>)
// CHECK:      %[[OUT:.*]] = loop.alloc : memref<64x7x7x8xf32>
// CHECK-NEXT: loop.nest (o = 64, h = 7, v = 7, n = 8, c = 128 reduction, k = 8 reduction) ins(%[[IMAGE]][c, h, v, k] : memref<128x7x7x8xf32>, %w[o, c, k, n] : memref<64x128x8x8xf32>, %b[o * 8 + n] : memref<512xf32>) outs(%[[OUT]][o, h, v, n] init 0.0 : memref<64x7x7x8xf32>)
// CHECK:      } finish {
// CHECK:      loop.nest (o = 64, h = 7, v = 7, n = 8) ins(%[[OUT]][o, h, v, n] : memref<64x7x7x8xf32>) outs(%y[o, h + 1, v + 1, n] : memref<64x9x9x8xf32>)
// CHECK-NOT:  loop.nest
}

// -----

// What is in order, what is a window, and what adds to what the output holds stays where it is.
// CHECK-LABEL: @others
// CHECK-NOT: loop.alloc
func.func @others(%x: memref<9x9x8xf32>, %d: memref<49x8xf32>, %w: memref<8x3x8xf32>, %f: memref<49x8xf32>, %z: memref<7x7x8xf32>) {
  loop.nest (p = 49, n = 8, k = 8 reduction) ins(%d[p, k] : memref<49x8xf32>, %w[k, 0, n] : memref<8x3x8xf32>) outs(%f[p, n] init 0.0 : memref<49x8xf32>) {
  ^bb0(%a: f32, %e: f32, %acc: f32):
    %m = arith.mulf %a, %e : f32
    %t = arith.addf %acc, %m : f32
    loop.yield %t : f32
  }
  loop.nest (h = 7, v = 7, n = 8, r = 3 reduction, k = 8 reduction) ins(%x[h, v + r, k] : memref<9x9x8xf32>, %w[k, r, n] : memref<8x3x8xf32>) outs(%z[h, v, n] : memref<7x7x8xf32>) {
  ^bb0(%a: f32, %e: f32, %acc: f32):
    %m = arith.mulf %a, %e : f32
    %t = arith.addf %acc, %m : f32
    loop.yield %t : f32
  }
  func.return
}
