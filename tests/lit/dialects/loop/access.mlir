// RUN: inarch-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s

// The attributes of a nest in their generic form, which parses back to the nest.
func.func @attributes(%x: memref<4xf32>, %y: memref<4xf32>) {
  loop.nest (i = 4 unroll, r = 2 reduction) ins(%x[i + r] pad 1.5 : memref<4xf32>) outs(%y[i] init -inf clip : memref<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.maximumf %a, %acc : f32
    loop.yield %m : f32
  }
  func.return
}
// GENERIC: iterators = [#loop.iterator<i = 4 unroll>, #loop.iterator<r = 2 reduction>]
// GENERIC-SAME: reads = [#loop.read<affine_map<(d0, d1) -> ((d0 + d1))>, 1.500000e+00 : f32>]
// GENERIC-SAME: writes = [#loop.write<affine_map<(d0, d1) -> (d0)>, {{.*}} : f32, "clip">]
// CHECK: loop.nest (i = 4 unroll, r = 2 reduction) ins(%x[i + r] pad 1.5 : memref<4xf32>) outs(%y[i] init -inf clip : memref<4xf32>)

// What is not there, is not there when it was parsed in its generic form either: such a read stays in its buffer.
func.func @none(%x: memref<4xf32>, %y: memref<4xf32>) {
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}
// GENERIC: reads = [#loop.read<affine_map<(d0) -> (d0)>, none>], writes = [#loop.write<affine_map<(d0) -> (d0)>, none, "none">]
// CHECK: loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>)

// The extremes of each dtype; a number of either sign is printed as the signed one of the same bits.
func.func @extremes_of_i1(%x: memref<4xi1>, %y: memref<4xi1>) {
  loop.nest (i = 4) ins(%x[i + 1] pad 0 : memref<4xi1>) outs(%y[i] init 1 : memref<4xi1>) {
  ^bb0(%a: i1, %acc: i1):
    loop.yield %a : i1
  }
  func.return
}
// CHECK: ins(%x[i + 1] pad 0 : memref<4xi1>) outs(%y[i] init 1 : memref<4xi1>)

func.func @extremes_of_i8(%x: memref<4xi8>, %y: memref<4xi8>) {
  loop.nest (i = 4) ins(%x[i + 1] pad -128 : memref<4xi8>) outs(%y[i] init 255 : memref<4xi8>) {
  ^bb0(%a: i8, %acc: i8):
    loop.yield %a : i8
  }
  func.return
}
// CHECK: ins(%x[i + 1] pad -128 : memref<4xi8>) outs(%y[i] init -1 : memref<4xi8>)

func.func @extremes_of_i16(%x: memref<4xi16>, %y: memref<4xi16>) {
  loop.nest (i = 4) ins(%x[i + 1] pad -32768 : memref<4xi16>) outs(%y[i] init 32767 : memref<4xi16>) {
  ^bb0(%a: i16, %acc: i16):
    loop.yield %a : i16
  }
  func.return
}
// CHECK: ins(%x[i + 1] pad -32768 : memref<4xi16>) outs(%y[i] init 32767 : memref<4xi16>)

func.func @extremes_of_i32(%x: memref<4xi32>, %y: memref<4xi32>) {
  loop.nest (i = 4) ins(%x[i + 1] pad -2147483648 : memref<4xi32>) outs(%y[i] init 4294967295 : memref<4xi32>) {
  ^bb0(%a: i32, %acc: i32):
    loop.yield %a : i32
  }
  func.return
}
// CHECK: ins(%x[i + 1] pad -2147483648 : memref<4xi32>) outs(%y[i] init -1 : memref<4xi32>)

func.func @extremes_of_i64(%x: memref<4xi64>, %y: memref<4xi64>) {
  loop.nest (i = 4) ins(%x[i + 1] pad -9223372036854775808 : memref<4xi64>) outs(%y[i] init 9223372036854775807 : memref<4xi64>) {
  ^bb0(%a: i64, %acc: i64):
    loop.yield %a : i64
  }
  func.return
}
// CHECK: ins(%x[i + 1] pad -9223372036854775808 : memref<4xi64>) outs(%y[i] init 9223372036854775807 : memref<4xi64>)
