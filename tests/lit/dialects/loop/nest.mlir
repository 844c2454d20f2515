// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// An integer 0 is a pad and an init like any other.
// CHECK-LABEL: func.func @zeros(
// CHECK-NEXT: loop.nest (i = 10, k = 2 reduction) ins(%a[i - k] pad 0 : memref<8xi32>) outs(%b[i] init 0 : memref<10xi32>) {
// CHECK-NEXT: ^bb0(%x: i32, %acc: i32):
// CHECK-NEXT: %s = arith.addi %acc, %x : i32
// CHECK-NEXT: loop.yield %s : i32
// CHECK-NEXT: }
func.func @zeros(%a: memref<8xi32>, %b: memref<10xi32>) {
  loop.nest (i = 10, k = 2 reduction) ins(%a[i - k] pad 0 : memref<8xi32>) outs(%b[i] init 0 : memref<10xi32>) {
  ^bb0(%x: i32, %acc: i32):
    %s = arith.addi %acc, %x : i32
    loop.yield %s : i32
  }
  func.return
}

// CHECK-LABEL: func.func @copy(
// CHECK-NEXT: loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
// CHECK-NEXT: ^bb0(%x: f32, %acc: f32):
// CHECK-NEXT: loop.yield %x : f32
// CHECK-NEXT: }
func.func @copy(%a: memref<8xf32>, %b: memref<8xf32>) {
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// CHECK-LABEL: func.func @matmul(
// CHECK-NEXT: loop.nest (m = 4, n = 16, k = 3 reduction) ins(%a[m, k] : memref<4x3xf32>, %b[k, n] : memref<3x16xf32>) outs(%c[m, n] init 0.0 : memref<4x16xf32>) {
// CHECK-NEXT: ^bb0(%x: f32, %y: f32, %acc: f32):
// CHECK-NEXT: %p = arith.mulf %x, %y : f32
// CHECK-NEXT: %s = arith.addf %acc, %p : f32
// CHECK-NEXT: loop.yield %s : f32
// CHECK-NEXT: }
func.func @matmul(%a: memref<4x3xf32>, %b: memref<3x16xf32>, %c: memref<4x16xf32>) {
  loop.nest (m = 4, n = 16, k = 3 reduction) ins(%a[m, k] : memref<4x3xf32>, %b[k, n] : memref<3x16xf32>) outs(%c[m, n] init 0.0 : memref<4x16xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  func.return
}

// Modes; the accumulator starts at the element.
// CHECK-LABEL: func.func @modes(
// CHECK-NEXT: loop.nest (i = 2 parallel, k = 3 reduction unroll, j = 4 vector) ins(%a[i, k] : memref<2x3xf32>) outs(%b[i, j] : memref<2x4xf32>) {
// CHECK-NEXT: ^bb0(%x: f32, %acc: f32):
// CHECK-NEXT: %s = arith.addf %acc, %x : f32
// CHECK-NEXT: loop.yield %s : f32
// CHECK-NEXT: }
func.func @modes(%a: memref<2x3xf32>, %b: memref<2x4xf32>) {
  loop.nest (i = 2 parallel, k = 3 reduction unroll, j = 4 vector) ins(%a[i, k] : memref<2x3xf32>) outs(%b[i, j] : memref<2x4xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    loop.yield %s : f32
  }
  func.return
}

// Reads outside yield the pad, writes outside are dropped.
// CHECK-LABEL: func.func @outside(
// CHECK-NEXT: loop.nest (i = 10) ins(%a[i * 2 - 1] pad -inf : memref<8xf32>) outs(%b[i + 1] clip : memref<8xf32>) {
// CHECK-NEXT: ^bb0(%x: f32, %acc: f32):
// CHECK-NEXT: loop.yield %x : f32
// CHECK-NEXT: }
func.func @outside(%a: memref<8xf32>, %b: memref<8xf32>) {
  loop.nest (i = 10) ins(%a[i * 2 - 1] pad -inf : memref<8xf32>) outs(%b[i + 1] clip : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// CHECK-LABEL: func.func @finish(
// CHECK-NEXT: loop.nest (m = 4, k = 3 reduction) ins(%a[m, k] : memref<4x3xf32>, %b[m] : memref<4xf32>) outs(%c[m] init 0.0 : memref<4xf32>) {
// CHECK-NEXT: ^bb0(%x: f32, %y: f32, %acc: f32):
// CHECK-NEXT: %s = arith.addf %acc, %x : f32
// CHECK-NEXT: loop.yield %s : f32
// CHECK-NEXT: } finish {
// CHECK-NEXT: ^bb0(%xf: f32, %yf: f32, %accf: f32):
// CHECK-NEXT: %t = arith.addf %accf, %yf : f32
// CHECK-NEXT: loop.yield %t : f32
// CHECK-NEXT: }
func.func @finish(%a: memref<4x3xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
  loop.nest (m = 4, k = 3 reduction) ins(%a[m, k] : memref<4x3xf32>, %b[m] : memref<4xf32>) outs(%c[m] init 0.0 : memref<4xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    loop.yield %s : f32
  } finish {
  ^bb0(%xf: f32, %yf: f32, %accf: f32):
    %t = arith.addf %accf, %yf : f32
    loop.yield %t : f32
  }
  func.return
}

// Two outputs, backwards, strides and an offset.
// CHECK-LABEL: func.func @two(
// CHECK-NEXT: loop.nest (i = 8) ins(%a[-i + 7] : memref<8xf32>) outs(%b[i] : memref<8xf32>, %c[0, i] : memref<2x8xi32, strided<[16, 2], offset: 1>>) {
// CHECK-NEXT: ^bb0(%x: f32, %p: f32, %q: i32):
// CHECK-NEXT: loop.yield %x, %q : f32, i32
// CHECK-NEXT: }
func.func @two(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<2x8xi32, strided<[16, 2], offset: 1>>) {
  loop.nest (i = 8) ins(%a[-i + 7] : memref<8xf32>) outs(%b[i] : memref<8xf32>, %c[0, i] : memref<2x8xi32, strided<[16, 2], offset: 1>>) {
  ^bb0(%x: f32, %p: f32, %q: i32):
    loop.yield %x, %q : f32, i32
  }
  func.return
}

// No iterators, no operands: one point.
// CHECK-LABEL: func.func @point(
// CHECK-NEXT: loop.nest () outs(%a[] : memref<f32>) attributes {note = 1 : i64} {
// CHECK-NEXT: ^bb0(%acc: f32):
// CHECK-NEXT: loop.yield %acc : f32
// CHECK-NEXT: }
func.func @point(%a: memref<f32>) {
  loop.nest () outs(%a[] : memref<f32>) attributes {note = 1 : i64} {
  ^bb0(%acc: f32):
    loop.yield %acc : f32
  }
  func.return
}

// Of nothing.
// CHECK-LABEL: func.func @empty(
// CHECK-NEXT: loop.nest (i = 0) ins(%a[i] : memref<0xf32>) outs(%b[i] : memref<0xf32>) {
// CHECK-NEXT: ^bb0(%x: f32, %acc: f32):
// CHECK-NEXT: loop.yield %x : f32
// CHECK-NEXT: }
func.func @empty(%a: memref<0xf32>, %b: memref<0xf32>) {
  loop.nest (i = 0) ins(%a[i] : memref<0xf32>) outs(%b[i] : memref<0xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// A scan: the accumulator is written at each of its points.
// CHECK-LABEL: func.func @scan(
// CHECK-NEXT: loop.nest (i = 4, k = 8 scan) ins(%a[i, k] : memref<4x8xf32>) outs(%b[i, k] init 0.0 : memref<4x8xf32>) {
// CHECK-NEXT: ^bb0(%x: f32, %acc: f32):
// CHECK-NEXT: %s = arith.addf %acc, %x : f32
// CHECK-NEXT: loop.yield %s : f32
// CHECK-NEXT: }
func.func @scan(%a: memref<4x8xf32>, %b: memref<4x8xf32>) {
  loop.nest (i = 4, k = 8 scan) ins(%a[i, k] : memref<4x8xf32>) outs(%b[i, k] init 0.0 : memref<4x8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    loop.yield %s : f32
  }
  func.return
}

// Backwards and in place, with a finish that reads what varies with the scan, and two outputs.
// CHECK-LABEL: func.func @scans(
// CHECK-NEXT: loop.nest (k = 8 scan, i = 4 unroll) ins(%b[-k + 7, i] : memref<8x4xf32>) outs(%b[-k + 7, i] init 1.0 : memref<8x4xf32>, %c[k, i] init 0.0 : memref<8x4xf32>) {
// CHECK: } finish {
func.func @scans(%b: memref<8x4xf32>, %c: memref<8x4xf32>) {
  loop.nest (k = 8 scan, i = 4 unroll) ins(%b[7 - k, i] : memref<8x4xf32>) outs(%b[7 - k, i] init 1.0 : memref<8x4xf32>, %c[k, i] init 0.0 : memref<8x4xf32>) {
  ^bb0(%x: f32, %p: f32, %s: f32):
    %q = arith.mulf %p, %x : f32
    %t = arith.addf %s, %x : f32
    loop.yield %q, %t : f32, f32
  } finish {
  ^bb0(%x: f32, %p: f32, %s: f32):
    %t = arith.subf %s, %x : f32
    loop.yield %p, %t : f32, f32
  }
  func.return
}
