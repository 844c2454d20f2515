// RUN: inarch-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s

// An index that is read may say where a row is written; rows that meet follow each other, along the scan.
func.func @rows(%ids: memref<8xi64>, %x: memref<8x64xf32>, %table: memref<100x64xf32> {inarch.result}) {
  loop.nest (i = 8 scan, j = 64) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x64xf32>) outs(%table[at(0), j] : memref<100x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
// GENERIC: writes = [#loop.write<affine_map<(d0, d1)[s0] -> (s0, d1)>, none, "none">]
// CHECK: loop.nest (i = 8 scan, j = 64) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x64xf32>) outs(%table[at(0), j] : memref<100x64xf32>)

// Of several dimensions, by operands that stand behind; what is there is the accumulator.
func.func @elements(%ids: memref<8x2xi32>, %x: memref<8xf32>, %y: memref<4x5x6xf32> {inarch.result}) {
  loop.nest (i = 8 scan) ins(%x[i] : memref<8xf32>, %ids[i, 0] : memref<8x2xi32>, %ids[i, 1] : memref<8x2xi32>) outs(%y[at(2), 3, at(1)] : memref<4x5x6xf32>) {
  ^bb0(%e: f32, %k: i32, %l: i32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  } finish {
  ^bb0(%e: f32, %k: i32, %l: i32, %acc: f32):
    %m = arith.maximumf %acc, %e : f32
    loop.yield %m : f32
  }
  func.return
}
// CHECK: outs(%y[at(2), 3, at(1)] : memref<4x5x6xf32>)

// Points that never meet need no order: each is in a row of its own, wherever the index is in it.
func.func @apart(%ids: memref<8xi64>, %y: memref<8x9xf32> {inarch.result}) {
  loop.nest (i = 8) ins(%ids[i] : memref<8xi64>) outs(%y[i, at(0)] : memref<8x9xf32>) {
  ^bb0(%k: i64, %o: f32):
    %one = arith.constant 1.0 : f32
    loop.yield %one : f32
  }
  func.return
}
// CHECK: loop.nest (i = 8) ins(%ids[i] : memref<8xi64>) outs(%y[i, at(0)] : memref<8x9xf32>)

// Along a dimension the scan may be one of the indices, too.
func.func @diagonal(%ids: memref<8xi64>, %y: memref<8x9xf32> {inarch.result}) {
  loop.nest (i = 8 scan) ins(%ids[i] : memref<8xi64>) outs(%y[i, at(0)] : memref<8x9xf32>) {
  ^bb0(%k: i64, %o: f32):
    %one = arith.constant 1.0 : f32
    loop.yield %one : f32
  }
  func.return
}
// CHECK: loop.nest (i = 8 scan) ins(%ids[i] : memref<8xi64>) outs(%y[i, at(0)] : memref<8x9xf32>)
