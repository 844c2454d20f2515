// RUN: inarch-opt %s -t c | filecheck %s

module attributes {inarch.name = "n"} {

// What an index picks has a name where the loops that it varies with are open; two that are equal have one.
func.func @rows(%ids: memref<8xi64>, %t: memref<100x65xf32>, %y: memref<8x64xf32>) {
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x65xf32>, %t[at(0), j + 1] : memref<100x65xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK:      static inline int64_t inarch_pick(int64_t index, int64_t size)
// CHECK:      (i = 8, j = 64) ins(ids[i], t[at(0), j], t[at(0), j + 1]) outs(y[i, j])
// CHECK:      for (int64_t i = 0; i < 8; i++) {
// CHECK-NEXT:   const int64_t row = inarch_pick(ids[i], 100);
// CHECK-NEXT:   for (int64_t j = 0; j < 64; j++) {
// CHECK-NEXT:     y[i * 64 + j] = t[row * 65 + j] + t[row * 65 + j + 1];

// One that varies with all loops stands where the element is read; loops that run on are one, in the index too.
func.func @elements(%ids: memref<8x4xi32>, %t: memref<100x100xf32>, %y: memref<8x4xf32>) {
  loop.nest (i = 8, j = 4) ins(%ids[i, j] : memref<8x4xi32>, %t[3, at(0)] : memref<100x100xf32>) outs(%y[i, j] : memref<8x4xf32>) {
  ^bb0(%k: i32, %a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
// CHECK:      for (int64_t i_j = 0; i_j < 32; i_j++) {
// CHECK-NEXT:   const int64_t row = inarch_pick(ids[i_j], 100);
// CHECK-NEXT:   y[i_j] = t[row + 300];

// An index at one place is picked before the loops; of a row that nothing uses, there is none.
func.func @one(%ids: memref<8xi64>, %t: memref<100x64xf32>, %u: memref<64xf32>, %y: memref<64xf32>) {
  loop.nest (j = 64) ins(%ids[3] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>, %u[at(0)] : memref<64xf32>) outs(%y[j] : memref<64xf32>) {
  ^bb0(%k: i64, %a: f32, %b: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
// CHECK:      outs(y[j]) */
// CHECK-NEXT: const int64_t row = inarch_pick(ids[3], 100);
// CHECK-NEXT: for (int64_t j = 0; j < 64; j++) {
// CHECK-NEXT:   y[j] = t[row * 64 + j];

// Within a sum that runs along rows, at the loop that sums; in `finish`, which runs behind, where it is read.
func.func @bags(%ids: memref<8x4xi64>, %last: memref<8xi64>, %t: memref<100x64xf32>, %y: memref<8x64xf32>) {
  loop.nest (b = 8, k = 4 reduction, j = 64) ins(%ids[b, k] : memref<8x4xi64>, %t[at(0), j] : memref<100x64xf32>, %last[b] : memref<8xi64>, %t[at(2), j] : memref<100x64xf32>) outs(%y[b, j] init 0.0 : memref<8x64xf32>) {
  ^bb0(%i: i64, %a: f32, %l: i64, %z: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  } finish {
  ^bb0(%i: i64, %a: f32, %l: i64, %z: f32, %acc: f32):
    %s = arith.addf %acc, %z : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK:      for (int64_t b = 0; b < 8; b++) {
// CHECK-NEXT:   const int64_t row = inarch_pick(last[b], 100);
// CHECK:        for (int64_t k = 0; k < 4; k++) {
// CHECK-NEXT:     const int64_t row_1 = inarch_pick(ids[b * 4 + k], 100);
// CHECK-NEXT:     for (int64_t j = 0; j < 64; j++) {
// CHECK-NEXT:       acc[j] += t[row_1 * 64 + j];
// CHECK:            y[b * 64 + j] = acc[j] + t[row * 64 + j];

// In registers along a row, one load; across rows, an element for each lane.
func.func @registers(%ids: memref<2x8xi64>, %t: memref<100x8xf32>, %y: memref<2x8xf32>) {
  loop.nest (r = 2 reduction, j = 8 vector) ins(%ids[r, 0] : memref<2x8xi64>, %t[at(0), j] : memref<100x8xf32>, %ids[r, j] : memref<2x8xi64>, %t[at(2), 0] : memref<100x8xf32>) outs(%y[0, j] init 0.0 : memref<2x8xf32>) {
  ^bb0(%i: i64, %a: f32, %l: i64, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: t + inarch_pick(ids[r * 8], 100) * 8)
// CHECK: t[inarch_pick(ids[r * 8 + 1], 100) * 8], t[inarch_pick(ids[r * 8 + 2], 100) * 8]
}
