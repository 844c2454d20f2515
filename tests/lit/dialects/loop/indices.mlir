// RUN: inarch-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s

// An index that is read is a symbol of the map, of the operand's number.
func.func @rows(%ids: memref<8xi64>, %table: memref<100x64xf32>, %y: memref<8x64xf32>) {
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %table[at(0), j] : memref<100x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}
// GENERIC: reads = [#loop.read<affine_map<(d0, d1) -> (d0)>, none>, #loop.read<affine_map<(d0, d1)[s0] -> (s0, d1)>, none>]
// CHECK: loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %table[at(0), j] : memref<100x64xf32>) outs

// Of several dimensions, by an operand that stands behind, in an order of one's own, and one twice.
func.func @several(%ids: memref<8x2xi32>, %other: memref<8xi64>, %x: memref<4x5x6xf32>, %y: memref<8xf32>) {
  loop.nest (i = 8) ins(%x[at(3), i - i + 2, at(1)] : memref<4x5x6xf32>, %ids[i, 1] : memref<8x2xi32>, %x[at(1), at(1), at(1)] : memref<4x5x6xf32>, %other[-i + 7] : memref<8xi64>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%a: f32, %k: i32, %b: f32, %l: i64, %o: f32):
    %s = arith.addf %a, %b : f32
    loop.yield %s : f32
  }
  func.return
}
// GENERIC: reads = [#loop.read<affine_map<(d0)[s0, s1, s2, s3] -> (s3, {{.*}}, s1)>, none>
// CHECK: ins(%x[at(3), 2, at(1)] : memref<4x5x6xf32>, %ids[i, 1] : memref<8x2xi32>, %x[at(1), at(1), at(1)] : memref<4x5x6xf32>, %other[-i + 7] : memref<8xi64>)

// Within a sum, by an index that varies with what is summed; the index may be padded.
func.func @bags(%ids: memref<8x4xi32>, %table: memref<100x64xf32>, %y: memref<8x64xf32>) {
  loop.nest (b = 8, k = 6 reduction, j = 64) ins(%ids[b, k - 1] pad -1 : memref<8x4xi32>, %table[at(0), j] : memref<100x64xf32>) outs(%y[b, j] init 0.0 : memref<8x64xf32>) {
  ^bb0(%k: i32, %x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: ins(%ids[b, k - 1] pad -1 : memref<8x4xi32>, %table[at(0), j] : memref<100x64xf32>)

// `at` is a word only before a bracket: an iterator may be called so.
func.func @named(%ids: memref<8xi64>, %table: memref<100x8xf32>, %y: memref<8xf32>) {
  loop.nest (at = 8) ins(%ids[at] : memref<8xi64>, %table[at(0), at - 1 + 1] : memref<100x8xf32>) outs(%y[at] : memref<8xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}
// CHECK: loop.nest (at = 8) ins(%ids[at] : memref<8xi64>, %table[at(0), at] : memref<100x8xf32>) outs(%y[at] : memref<8xf32>)

// A dimension of no elements may be picked from where no point is.
func.func @nothing(%ids: memref<0xi64>, %table: memref<0x8xf32>, %y: memref<0x8xf32>) {
  loop.nest (i = 0, j = 8) ins(%ids[i] : memref<0xi64>, %table[at(0), j] : memref<0x8xf32>) outs(%y[i, j] : memref<0x8xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}
// CHECK: loop.nest (i = 0, j = 8)
