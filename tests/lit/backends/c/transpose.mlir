// RUN: inarch-opt %s -t c | filecheck %s

// Copies that run along other loops in their source than in their destination go by blocks of 4 x 4.
module attributes {inarch.name = "n"} {

// 10 = 2 blocks and 2: the last block begins at 6. 36 = 2 lines of 16, and 4: the last line is short.
// CHECK: /* @blocks */
// CHECK: for (int64_t line = 0; line < 36; line += 16) {
// CHECK-NEXT: const int64_t end = line + 16 < 36 ? line + 16 : 36;
// CHECK-NEXT: for (int64_t i = 0; i < 10; i += 4) {
// CHECK-NEXT: const int64_t i_block = i < 6 ? i : 6;
// CHECK-NEXT: for (int64_t j = line; j < end; j += 4) {
// CHECK-NEXT: inarch_transpose_b32(x + i_block + j * 10, 10, y + i_block * 36 + j, 36);
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func private @blocks(%x: memref<36x10xf32>, %y: memref<10x36xf32>) {
  loop.nest (i = 10, j = 36) ins(%x[j, i] : memref<36x10xf32>) outs(%y[i, j] : memref<10x36xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

// A window's position and its element both run along the source: blocks are of the longer one.
// CHECK: /* @window */
// CHECK: for (int64_t k = 0; k < 3; k++) {
// CHECK: inarch_transpose_b32(x + k + i + j * 10, 10, y + k * 288 + i * 36 + j, 36);
func.func private @window(%x: memref<36x10xf32>, %y: memref<3x8x36xf32>) {
  loop.nest (k = 3, i = 8, j = 36) ins(%x[j, k + i] : memref<36x10xf32>) outs(%y[k, i, j] : memref<3x8x36xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

// Bytes, a schedule of the author's, a padded read and arithmetic are the C compiler's.
// CHECK: /* @bytes */
// CHECK-NOT: inarch_transpose
func.func private @bytes(%x: memref<36x10xi8>, %y: memref<10x36xi8>) {
  loop.nest (i = 10, j = 36) ins(%x[j, i] : memref<36x10xi8>) outs(%y[i, j] : memref<10x36xi8>) {
  ^bb0(%a: i8, %acc: i8):
    loop.yield %a : i8
  }
  func.return
}
func.func private @mode(%x: memref<36x10xf32>, %y: memref<10x36xf32>) {
  loop.nest (i = 10, j = 36 unroll) ins(%x[j, i] : memref<36x10xf32>) outs(%y[i, j] : memref<10x36xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}
func.func private @padded(%x: memref<36x8xf32>, %y: memref<10x36xf32>) {
  loop.nest (i = 10, j = 36) ins(%x[j, i] pad 0.0 : memref<36x8xf32>) outs(%y[i, j] : memref<10x36xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}
func.func private @twice(%x: memref<36x10xf32>, %y: memref<10x36xf32>) {
  loop.nest (i = 10, j = 36) ins(%x[j, i] : memref<36x10xf32>) outs(%y[i, j] : memref<10x36xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %b = arith.addf %a, %a : f32
    loop.yield %b : f32
  }
  func.return
}
}
