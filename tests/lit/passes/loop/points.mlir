// Who gives a nest other iterators moves what its bodies say of where they are.
// RUN: inarch-opt %s -p drop-unit-iterators | filecheck %s --check-prefix=DROP
// RUN: inarch-opt %s -p drop-unit-iterators --verify-semantics -o %t
// RUN: inarch-opt %s -p fuse-nests | filecheck %s --check-prefix=FUSE
// RUN: inarch-opt %s -p fuse-nests --verify-semantics -o %t
// RUN: inarch-opt %s -p rematerialize | filecheck %s --check-prefix=AGAIN
// RUN: inarch-opt %s -p split-padding | filecheck %s --check-prefix=PAD
// RUN: inarch-opt %s -p split-padding --verify-semantics -o %t
// RUN: inarch-opt %s -p split-dilation | filecheck %s --check-prefix=DILATION
// RUN: inarch-opt %s -p split-dilation --verify-semantics -o %t
// RUN: inarch-opt %s -p 'drop-padding-taps{least=0}' | filecheck %s --check-prefix=TAPS
// RUN: inarch-opt %s -p 'drop-padding-taps{least=0}' --verify-semantics -o %t
// RUN: inarch-opt %s -p schedule-nests | filecheck %s --check-prefix=SCHEDULE
// RUN: inarch-opt %s -p schedule-nests --verify-semantics -o %t
// RUN: inarch-opt %s -p fold-scalars | filecheck %s --check-prefix=SCALARS
// RUN: inarch-opt %s -p fold-scalars --verify-semantics -o %t
// RUN: inarch-opt %s -p update-in-place | filecheck %s --check-prefix=PLACE
// RUN: inarch-opt %s -p update-in-place --verify-semantics -o %t
// RUN: inarch-opt %s -p tensorize | filecheck %s --check-prefix=KERNELS

// A loop of one iteration is at 0.
// DROP-LABEL: @unit
// DROP:         loop.nest (i = 5 reduction)
// DROP:           loop.point i + 2 : index
// DROP:         finish
// DROP:           loop.point 1 : index
func.func @unit(%x: memref<1x5xi64>, %y: memref<1xi64> {inarch.result}) {
  loop.nest (n = 1, i = 5 reduction) ins(%x[n, i] : memref<1x5xi64>) outs(%y[n] init 0 : memref<1xi64>) {
  ^bb0(%a: i64, %acc: i64):
    %k = loop.point n * 5 + i + 2 : index
    %p = arith.index_cast %k : index to i64
    %s = arith.addi %acc, %p : i64
    loop.yield %s : i64
  } finish {
  ^bb0(%a: i64, %acc: i64):
    %k = loop.point n + 1 : index
    %p = arith.index_cast %k : index to i64
    %s = arith.addi %acc, %p : i64
    loop.yield %s : i64
  }
  func.return
}

// What reads nothing is another number where it is read from the other end. Three of it are not computed again.
// FUSE-LABEL: @both_ends
// FUSE-NEXT:    loop.nest (i = 4) outs(%y[i]
// FUSE-NEXT:    ^bb0
// FUSE-NEXT:      %[[FRONT:.*]] = loop.point i * 3 + 1 : index
// FUSE-NEXT:      %[[P:.*]] = arith.index_cast %[[FRONT]]
// FUSE-NEXT:      %[[END:.*]] = loop.point -i * 3 + 22 : index
// FUSE-NEXT:      %[[Q:.*]] = arith.index_cast %[[END]]
// FUSE-NEXT:      arith.subi %[[Q]], %[[P]]
// AGAIN-LABEL: @both_ends
// AGAIN:         loop.nest (i = 8) outs(%t[i]
func.func @both_ends(%y: memref<4xi64> {inarch.result}) {
  %t = loop.alloc : memref<8xi64>
  loop.nest (i = 8) outs(%t[i] : memref<8xi64>) {
  ^bb0(%o: i64):
    %k = loop.point i * 3 + 1 : index
    %p = arith.index_cast %k : index to i64
    loop.yield %p : i64
  }
  loop.nest (i = 4) ins(%t[i] : memref<8xi64>, %t[-i + 7] : memref<8xi64>) outs(%y[i] : memref<4xi64>) {
  ^bb0(%a: i64, %b: i64, %o: i64):
    %s = arith.subi %b, %a : i64
    loop.yield %s : i64
  }
  func.return
}

// The same names, the other way round.
// FUSE-LABEL: @behind_a_sum
// FUSE-NEXT:    loop.nest (m = 6, n = 2, k = 3 reduction)
// FUSE:         finish
// FUSE:           loop.point m * 2 + n + 1 : index
func.func @behind_a_sum(%x: memref<6x2x3xi64>, %y: memref<6x2xi64> {inarch.result}) {
  %t = loop.alloc : memref<6x2xi64>
  loop.nest (m = 6, n = 2, k = 3 reduction) ins(%x[m, n, k] : memref<6x2x3xi64>) outs(%t[m, n] init 0 : memref<6x2xi64>) {
  ^bb0(%a: i64, %acc: i64):
    %s = arith.addi %acc, %a : i64
    loop.yield %s : i64
  }
  loop.nest (n = 6, m = 2) ins(%t[n, m] : memref<6x2xi64>) outs(%y[n, m] : memref<6x2xi64>) {
  ^bb0(%a: i64, %o: i64):
    %k = loop.point n * 2 + m + 1 : index
    %p = arith.index_cast %k : index to i64
    %s = arith.addi %a, %p : i64
    loop.yield %s : i64
  }
  func.return
}

// Into a nest with two outputs, which knows where it is.
// FUSE-LABEL: @into_two_outputs
// FUSE-NEXT:    loop.nest (j = 6, i = 5 reduction) ins(%x[j, i] : memref<6x5xf32>) outs(%v[j] init 0.0 : memref<6xf32>, %n[j] init 0 : memref<6xi64>)
// FUSE:           arith.negf
// FUSE:           loop.point i : index
// FUSE-NOT:     loop.nest
// FUSE:       @padded
func.func @into_two_outputs(%x: memref<6x5xf32>, %v: memref<6xf32> {inarch.result}, %n: memref<6xi64> {inarch.result}) {
  %t = loop.alloc : memref<6x5xf32>
  loop.nest (i = 6, j = 5) ins(%x[i, j] : memref<6x5xf32>) outs(%t[i, j] : memref<6x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    loop.yield %s : f32
  }
  loop.nest (j = 6, i = 5 reduction) ins(%t[j, i] : memref<6x5xf32>) outs(%v[j] init 0.0 : memref<6xf32>, %n[j] init 0 : memref<6xi64>) {
  ^bb0(%a: f32, %s: f32, %c: i64):
    %k = loop.point i : index
    %p = arith.index_cast %k : index to i64
    %s1 = arith.addf %s, %a : f32
    %c1 = arith.addi %c, %p : i64
    loop.yield %s1, %c1 : f32, i64
  }
  func.return
}

// Pieces begin where the padding ends.
// PAD-LABEL: @padded
// PAD-NEXT:    loop.nest (i = 1) outs(%y[i]
// PAD:           loop.point i * 2 : index
// PAD:         loop.nest (i = 2) outs(%y[i + 4]
// PAD:           loop.point i * 2 + 8 : index
// PAD:         loop.nest (i = 3) ins(%x[i] : memref<3xi64>) outs(%y[i + 1]
// PAD:           loop.point i * 2 + 2 : index
func.func @padded(%x: memref<3xi64>, %y: memref<6xi64> {inarch.result}) {
  loop.nest (i = 6) ins(%x[i - 1] pad 9 : memref<3xi64>) outs(%y[i] : memref<6xi64>) {
  ^bb0(%a: i64, %o: i64):
    %k = loop.point i * 2 : index
    %p = arith.index_cast %k : index to i64
    %s = arith.addi %a, %p : i64
    loop.yield %s : i64
  }
  func.return
}

// DILATION-LABEL: @every_second_pixel
// DILATION-NEXT:    loop.nest (p = 5, c = 8, r = 3 reduction)
// DILATION:           loop.point p * 16 + c : index
// DILATION:         loop.nest (p = 4, c = 8, r = 3 reduction)
// DILATION:           loop.point p * 16 + c + 8 : index
// KERNELS-LABEL: @every_second_pixel
// KERNELS-NOT:     kernel.call
func.func @every_second_pixel(%x: memref<13x8xf32>, %w: memref<3x8xf32>, %y: memref<9x8xf32> {inarch.result}) {
  loop.nest (p = 9, c = 8, r = 3 reduction) ins(%x[p + r * 2, c] : memref<13x8xf32>, %w[r, c] : memref<3x8xf32>) outs(%y[p, c] init 0.0 : memref<9x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    loop.yield %s : f32
  } finish {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %k = loop.point p * 8 + c : index
    %i = arith.index_cast %k : index to i64
    %f = arith.sitofp %i : i64 to f32
    %s = arith.addf %acc, %f : f32
    loop.yield %s : f32
  }
  func.return
}

// The last part, which is full, finishes; its taps are others.
// TAPS-LABEL: @each_tap_where_its_image_is
// TAPS:         loop.nest (q = 6,
// TAPS-NOT:     loop.point
// TAPS:         loop.nest (q = 6,
// TAPS-NOT:     loop.point
// TAPS:         loop.nest (q = 7, o = 3, c = 4 reduction, k = 1 reduction)
// TAPS:         finish
// TAPS:           loop.point q * 3 + o : index
func.func @each_tap_where_its_image_is(%x: memref<7x4xf32>, %y: memref<7x3xf32> {inarch.result}) {
  %w = loop.constant dense<1.5> : tensor<3x4x3xf32> : memref<3x4x3xf32>
  %p = loop.alloc : memref<9x4xf32>
  loop.nest (i = 1, c = 4) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 1, c = 4) outs(%p[i + 8, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 7, c = 4) ins(%x[i, c] : memref<7x4xf32>) outs(%p[i + 1, c] : memref<9x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[q + k, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q, o] init 0.0 : memref<7x3xf32>) {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  } finish {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %k = loop.point q * 3 + o : index
    %i = arith.index_cast %k : index to i64
    %f = arith.sitofp %i : i64 to f32
    %n = arith.addf %acc, %f : f32
    loop.yield %n : f32
  }
  func.return
}

// Strips of columns: of a scan, and of a reduction with two outputs.
// SCHEDULE-LABEL: @columns
// SCHEDULE:         loop.nest (j = 2, k = 9 scan, j_3008 = 3008)
// SCHEDULE:           loop.point j * 3008 + k * 2 + j_3008 : index
// SCHEDULE:         loop.nest (k = 9 scan, j = 2985)
// SCHEDULE:           loop.point k * 2 + j + 6016 : index
// SCHEDULE:         loop.nest (j = 4, k = 9 reduction, j_1808 = 1808) ins(%x[k, j * 1808 + j_1808] : memref<9x9001xf32>)
// SCHEDULE:           loop.point j * 1808 + k * 2 + j_1808 : index
// SCHEDULE:         loop.nest (k = 9 reduction, j = 1769) ins(%x[k, j + 7232]
// SCHEDULE:           loop.point k * 2 + j + 7232 : index
func.func @columns(%x: memref<9x9001xf32>, %y: memref<9x9001xf32> {inarch.result}, %v: memref<9001xf32> {inarch.result}, %n: memref<9001xi32> {inarch.result}) {
  loop.nest (j = 9001, k = 9 scan) ins(%x[k, j] : memref<9x9001xf32>) outs(%y[k, j] init 0.0 : memref<9x9001xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %p = loop.point j + k * 2 : index
    %i = arith.index_cast %p : index to i64
    %f = arith.sitofp %i : i64 to f32
    %b = arith.addf %a, %f : f32
    %s = arith.addf %b, %acc : f32
    loop.yield %s : f32
  }
  loop.nest (j = 9001, k = 9 reduction) ins(%x[k, j] : memref<9x9001xf32>) outs(%v[j] init 0.0 : memref<9001xf32>, %n[j] init 0 : memref<9001xi32>) {
  ^bb0(%a: f32, %acc: f32, %acc1: i32):
    %p = loop.point j + k * 2 : index
    %i = arith.index_cast %p : index to i32
    %s = arith.addf %a, %acc : f32
    %m = arith.maxsi %i, %acc1 : i32
    loop.yield %s, %m : f32, i32
  }
  func.return
}

// SCALARS-LABEL: @a_number
// SCALARS:         loop.nest (i = 4) ins(%x[i] : memref<4xi64>) outs(%y[i]
// SCALARS:           loop.point i * 2 : index
func.func @a_number(%x: memref<4xi64>, %y: memref<4xi64> {inarch.result}) {
  %c = loop.constant dense<7> : tensor<1xi64> : memref<1xi64>
  loop.nest (i = 4) ins(%x[i] : memref<4xi64>, %c[0] : memref<1xi64>) outs(%y[i] : memref<4xi64>) {
  ^bb0(%a: i64, %b: i64, %o: i64):
    %k = loop.point i * 2 : index
    %p = arith.index_cast %k : index to i64
    %s = arith.addi %a, %p : i64
    %t = arith.addi %s, %b : i64
    loop.yield %t : i64
  }
  func.return
}

// PLACE-LABEL: @in_place
// PLACE:         loop.nest (i = 4) ins(%x[i]
// PLACE:         loop.nest (j = 4) outs(%y[j]
// PLACE:           loop.point j * 2 : index
func.func @in_place(%x: memref<4xi64>, %y: memref<4xi64> {inarch.result}) {
  %t = loop.alloc : memref<4xi64>
  loop.nest (i = 4) ins(%x[i] : memref<4xi64>) outs(%t[i] : memref<4xi64>) {
  ^bb0(%a: i64, %o: i64):
    loop.yield %a : i64
  }
  loop.nest (j = 4) ins(%t[j] : memref<4xi64>) outs(%y[j] : memref<4xi64>) {
  ^bb0(%a: i64, %o: i64):
    %k = loop.point j * 2 : index
    %p = arith.index_cast %k : index to i64
    %s = arith.addi %a, %p : i64
    loop.yield %s : i64
  }
  func.return
}
