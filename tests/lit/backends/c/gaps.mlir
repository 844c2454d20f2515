// RUN: inarch-opt %s -t c | filecheck %s

// Functions in which gcc would vectorise reads with steps and read behind the last element (plan/gaps.py).
module attributes {inarch.name = "n"} {

// CHECK: #if defined(__GNUC__) && !defined(__clang__)
// CHECK-NEXT: #define INARCH_NO_LOOP_VECTORS __attribute__((noipa, optimize("no-tree-loop-vectorize")))

// A step of 2 around a short loop: gcc unrolls that one.
// CHECK: /* @steps */
// CHECK-NEXT: INARCH_NO_LOOP_VECTORS
func.func private @steps(%x: memref<9xf32>, %y: memref<5x8xf32>) {
  loop.nest (q = 5, o = 8) ins(%x[q * 2] : memref<9xf32>) outs(%y[q, o] : memref<5x8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

// The innermost loop has the step, as in pools.
// CHECK: /* @innermost */
// CHECK-NOT: INARCH_NO_LOOP_VECTORS
// CHECK: /* @long_inside */
// CHECK-NOT: INARCH_NO_LOOP_VECTORS
// CHECK: /* @longer_than_registers */
// CHECK-NOT: INARCH_NO_LOOP_VECTORS
// CHECK: /* @filled */
// CHECK-NOT: INARCH_NO_LOOP_VECTORS
// CHECK: /* @windows */
// CHECK-NOT: INARCH_NO_LOOP_VECTORS
// CHECK: /* @with_a_gap */
// CHECK-NEXT: INARCH_NO_LOOP_VECTORS
func.func private @innermost(%x: memref<9xf32>, %y: memref<8x5xf32>) {
  loop.nest (o = 8, q = 5) ins(%x[q * 2] : memref<9xf32>) outs(%y[o, q] : memref<8x5xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

func.func private @long_inside(%x: memref<9xf32>, %y: memref<5x80xf32>) {
  loop.nest (q = 5, o = 80) ins(%x[q * 2] : memref<9xf32>) outs(%y[q, o] : memref<5x80xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

func.func private @longer_than_registers(%x: memref<65xf32>, %y: memref<5x8xf32>) {
  loop.nest (q = 5, o = 8) ins(%x[q * 16] : memref<65xf32>) outs(%y[q, o] : memref<5x8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

// Rows of eight side by side, which are read again and again.
func.func private @filled(%x: memref<5x8xi8>, %w: memref<8xi8>, %y: memref<5x8xi8>) {
  loop.nest (q = 5, o = 8) ins(%x[q, o] : memref<5x8xi8>, %w[o] : memref<8xi8>) outs(%y[q, o] : memref<5x8xi8>) {
  ^bb0(%a: i8, %b: i8, %acc: i8):
    %s = arith.addi %a, %b : i8
    loop.yield %s : i8
  }
  func.return
}

// Rows of 5 are filled by ow and kw, windows of 9 by kh and kw, images by all of them.
func.func private @windows(%x: memref<6x5x5xf32>, %w: memref<6x3x3xf32>, %y: memref<6x3x3xf32>) {
  loop.nest (g = 6, oh = 3, kh = 3 reduction, kw = 3 reduction, ow = 3)
      ins(%x[g, oh + kh, ow + kw] : memref<6x5x5xf32>, %w[g, kh, kw] : memref<6x3x3xf32>)
      outs(%y[g, oh, ow] init 0.0 : memref<6x3x3xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %acc : f32
    loop.yield %s : f32
  }
  func.return
}

// The last element of each row of 5 is left out.
func.func private @with_a_gap(%x: memref<6x5x5xf32>, %y: memref<6x3x3xf32>) {
  loop.nest (g = 6, oh = 3, kh = 3 reduction, kw = 2 reduction, ow = 3)
      ins(%x[g, oh + kh, ow + kw] : memref<6x5x5xf32>) outs(%y[g, oh, ow] init 0.0 : memref<6x3x3xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.maximumf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
}
