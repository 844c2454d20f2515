// RUN: inarch-opt %s -t c | filecheck %s

module attributes {inarch.name = "n"} {

// Where a row is has a name where the loops that it varies with are open, and behind it the row is skipped.
func.func @rows(%ids: memref<8xi64>, %x: memref<8x64xf32>, %y: memref<100x64xf32> {inarch.result}) {
  loop.nest (i = 8 scan, j = 64) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x64xf32>) outs(%y[at(0), j] : memref<100x64xf32>) {
  ^bb0(%k: i64, %e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK:      static inline int64_t inarch_place(int64_t index, int64_t size)
// CHECK:      (i = 8 scan, j = 64) ins(ids[i], x[i, j]) outs(y[at(0), j])
// CHECK:      for (int64_t i = 0; i < 8; i++) {
// CHECK-NEXT:   const int64_t row = inarch_place(ids[i], 100);
// CHECK-NEXT:   if (row >= 0) {
// CHECK-NEXT:     for (int64_t j = 0; j < 64; j++) {
// CHECK-NEXT:       y[row * 64 + j] += x[i * 64 + j];

// Several indices are several conditions; what is read at one stands inside of them.
func.func @elements(%ids: memref<8x2xi32>, %t: memref<9xf32>, %y: memref<4x5x6xf32> {inarch.result}) {
  loop.nest (i = 8 scan) ins(%ids[i, 0] : memref<8x2xi32>, %ids[i, 1] : memref<8x2xi32>, %t[at(0)] : memref<9xf32>) outs(%y[at(1), 3, at(0)] : memref<4x5x6xf32>) {
  ^bb0(%k: i32, %l: i32, %e: f32, %acc: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK:      for (int64_t i = 0; i < 8; i++) {
// CHECK-NEXT:   const int64_t row = inarch_pick(ids[i * 2], 9);
// CHECK-NEXT:   const int64_t row_1 = inarch_place(ids[i * 2 + 1], 4);
// CHECK-NEXT:   if (row_1 >= 0) {
// CHECK-NEXT:     const int64_t row_2 = inarch_place(ids[i * 2], 6);
// CHECK-NEXT:     if (row_2 >= 0) {
// CHECK-NEXT:       y[row_1 * 30 + row_2 + 18] = t[row];

// The element of the nest's own operand is what it writes: no transpose, and no copy in blocks.
func.func @inverse(%ids: memref<8x9xi64>, %y: memref<9x8xi64> {inarch.result}) {
  loop.nest (i = 8 scan, j = 9) ins(%ids[i, j] : memref<8x9xi64>) outs(%y[j, at(0)] : memref<9x8xi64>) {
  ^bb0(%k: i64, %acc: i64):
    loop.yield %k : i64
  }
  func.return
}
// CHECK:      for (int64_t i = 0; i < 8; i++) {
// CHECK-NEXT:   for (int64_t j = 0; j < 9; j++) {
// CHECK-NEXT:     const int64_t row = inarch_place(ids[i * 9 + j], 8);
// CHECK-NEXT:     if (row >= 0) {
// CHECK-NEXT:       y[row + j * 8] = ids[i * 9 + j];

}
