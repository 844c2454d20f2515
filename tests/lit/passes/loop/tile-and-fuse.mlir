// RUN: inarch-opt %s -p 'tile-and-fuse{rows=3 always=true}' --split-input-file | filecheck %s
// RUN: inarch-opt %s -p tile-and-fuse --split-input-file | filecheck %s --check-prefix=SMALL

// Rows of a product, their sums, and both in one: blocks of three rows, and of the one that is left.
// What all blocks read stays as it is; scratch is as large as a block.
// SMALL-LABEL: func.func @main
// SMALL-NOT: loop.for
// CHECK-LABEL: func.func @main
// CHECK-NEXT: loop.for %i = 0 to 6 step 3 {
// CHECK-NEXT:   %t = loop.alloc : memref<3x8xf32>
// CHECK-NEXT:   %s = loop.alloc : memref<3xf32>
// CHECK-NEXT:   %x_1 = memref.subview %x[%i, 0] [3, 5] [1, 1] : memref<7x5xf32> to memref<3x5xf32, strided<[5, 1], offset: ?>>
// CHECK-NEXT:   loop.nest (m = 3, n = 8, k = 5 reduction) ins(%x_1[m, k] : memref<3x5xf32, strided<[5, 1], offset: ?>>, %w[k, n] : memref<5x8xf32>) outs(%t[m, n] init 0.0 : memref<3x8xf32>)
// CHECK:        loop.nest (m = 3, n = 8 reduction) ins(%t[m, n] : memref<3x8xf32>) outs(%s[m] init 0.0 : memref<3xf32>)
// CHECK:        %y_1 = memref.subview %y[%i, 0] [3, 8] [1, 1]
// CHECK:        loop.nest (i = 3, j = 8) ins(%t[i, j] : memref<3x8xf32>, %s[i] : memref<3xf32>) outs(%y_1[i, j]
// CHECK:      loop.for %i_1 = 6 to 7 {
// CHECK:        loop.nest (m = 1, n = 8, k = 5 reduction)
func.func @main(%x: memref<7x5xf32>, %w: memref<5x8xf32>, %y: memref<7x8xf32> {inarch.result}) {
  %t = loop.alloc : memref<7x8xf32>
  loop.nest (m = 7, n = 8, k = 5 reduction) ins(%x[m, k] : memref<7x5xf32>, %w[k, n] : memref<5x8xf32>) outs(%t[m, n] init 0.0 : memref<7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  }
  %s = loop.alloc : memref<7xf32>
  loop.nest (m = 7, n = 8 reduction) ins(%t[m, n] : memref<7x8xf32>) outs(%s[m] init 0.0 : memref<7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    loop.yield %r : f32
  }
  loop.nest (i = 7, j = 8) ins(%t[i, j] : memref<7x8xf32>, %s[i] : memref<7xf32>) outs(%y[i, j] : memref<7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// Nothing is shared by rows: each row of %y is of all rows of %t.
// CHECK-LABEL: func.func @columns
// CHECK-NOT: loop.for
func.func @columns(%x: memref<7x7xf32>, %y: memref<7x7xf32> {inarch.result}) {
  %t = loop.alloc : memref<7x7xf32>
  loop.nest (m = 7, n = 7) ins(%x[m, n] : memref<7x7xf32>) outs(%t[m, n] : memref<7x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  }
  loop.nest (m = 7, n = 7, k = 7 reduction) ins(%t[m, k] : memref<7x7xf32>, %t[k, n] : memref<7x7xf32>) outs(%y[m, n] init 0.0 : memref<7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// What its author has scheduled stays.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: loop.for
func.func @kept(%x: memref<7x8xf32>, %y: memref<7x8xf32> {inarch.result}) {
  %t = loop.alloc : memref<7x8xf32>
  loop.nest (m = 7, n = 8) ins(%x[m, n] : memref<7x8xf32>) outs(%t[m, n] : memref<7x8xf32>) attributes {inarch.keep} {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  }
  loop.nest (m = 7, n = 8) ins(%t[m, n] : memref<7x8xf32>) outs(%y[m, n] : memref<7x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// A row of %y is of a row and of a column of %t.
// CHECK-LABEL: func.func @symmetric
// CHECK-NOT: loop.for
func.func @symmetric(%x: memref<7x7xf32>, %y: memref<7x7xf32> {inarch.result}) {
  %t = loop.alloc : memref<7x7xf32>
  loop.nest (m = 7, n = 7) ins(%x[m, n] : memref<7x7xf32>) outs(%t[m, n] : memref<7x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  }
  loop.nest (m = 7, n = 7) ins(%t[m, n] : memref<7x7xf32>, %t[n, m] : memref<7x7xf32>) outs(%y[m, n] : memref<7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// Rows of which there are 7, and rows of which there are 4: no number of iterations serves both.
// CHECK-LABEL: func.func @fewer
// CHECK-NOT: loop.for
func.func @fewer(%x: memref<7x8xf32>, %y: memref<4x8xf32> {inarch.result}) {
  %t = loop.alloc : memref<7x8xf32>
  loop.nest (m = 7, n = 6) ins(%x[m, n] : memref<7x8xf32>) outs(%t[m, n] : memref<7x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  }
  loop.nest (m = 4, n = 8) ins(%t[m, n] : memref<7x8xf32>) outs(%y[m, n] : memref<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// What is read through a view is another buffer, as far as anybody here knows.
// CHECK-LABEL: func.func @view
// CHECK-NOT: loop.for
func.func @view(%x: memref<7x8xf32>, %y: memref<7x8xf32> {inarch.result}) {
  %t = loop.alloc : memref<7x8xf32>
  %v = loop.reshape %t : memref<7x8xf32> to memref<7x4x2xf32>
  loop.nest (m = 7, n = 8) ins(%x[m, n] : memref<7x8xf32>) outs(%t[m, n] : memref<7x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  }
  loop.nest (m = 7, n = 4, k = 2) ins(%v[m, n, k] : memref<7x4x2xf32>) outs(%y[m, 2 * n + k] : memref<7x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// Two rows of the view are one of the buffer.
// CHECK-LABEL: func.func @two_views
// CHECK-NOT: loop.for
func.func @two_views(%x: memref<8x8xf32>, %y: memref<8x4xf32> {inarch.result}) {
  %t = loop.alloc : memref<8x8xf32>
  %v = loop.reshape %t : memref<8x8xf32> to memref<16x4xf32>
  loop.nest (i = 8, j = 8) ins(%x[i, j] : memref<8x8xf32>) outs(%t[i, j] : memref<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  }
  loop.nest (i = 8, j = 4) ins(%t[i, j] : memref<8x8xf32>, %v[i, j] : memref<16x4xf32>) outs(%y[i, j] : memref<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// What is written, and read, through one view is what the view is.
// CHECK-LABEL: func.func @one_view
// CHECK:      loop.for %i = 0 to 7 {
// CHECK:        loop.alloc : memref<1x1x2xf32>
// CHECK:        memref.subview %{{.*}}[%i, %j, %k] [1, 1, 2] [1, 1, 1]
func.func @one_view(%x: memref<7x8xf32>, %y: memref<7x8xf32> {inarch.result}) {
  %t = loop.alloc : memref<7x4x2xf32>
  %v = loop.reshape %y : memref<7x8xf32> to memref<7x4x2xf32>
  loop.nest (i = 7, j = 4, k = 2) ins(%x[i, j * 2 + k] : memref<7x8xf32>) outs(%t[i, j, k] : memref<7x4x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  }
  loop.nest (i = 7, j = 4, k = 2) ins(%t[i, j, k] : memref<7x4x2xf32>) outs(%v[i, j, k] : memref<7x4x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// So does what is computed,
// CHECK-LABEL: func.func @computed
// CHECK:      loop.nest (i = 5, j = 8) ins(%k[j, i]
// CHECK:      loop.for
// CHECK:        loop.nest (m = 3, n = 8, k = 5 reduction) ins(%{{.*}}[m, k] : {{.*}}, %{{.*}}[k, n] : memref<5x8xf32>)
func.func @computed(%x: memref<7x5xf32>, %k: memref<8x5xf32>, %y: memref<7xf32> {inarch.result}) {
  %w = loop.alloc : memref<5x8xf32>
  loop.nest (i = 5, j = 8) ins(%k[j, i] : memref<8x5xf32>) outs(%w[i, j] : memref<5x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  }
  %t = loop.alloc : memref<7x8xf32>
  loop.nest (m = 7, n = 8, k = 5 reduction) ins(%x[m, k] : memref<7x5xf32>, %w[k, n] : memref<5x8xf32>) outs(%t[m, n] init 0.0 : memref<7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  }
  loop.nest (i = 7, j = 8 reduction) ins(%t[i, j] : memref<7x8xf32>) outs(%y[i] init 0.0 : memref<7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// what is of a source that is overwritten,
// CHECK-LABEL: func.func @overwritten
// CHECK:      loop.nest (i = 5, j = 8) ins(%k[j, i]
// CHECK:      loop.for
// CHECK:        loop.nest (m = 3, n = 8, k = 5 reduction) ins(%{{.*}}[m, k] : {{.*}}, %{{.*}}[k, n] : memref<5x8xf32>)
func.func @overwritten(%x: memref<7x5xf32>, %k: memref<8x5xf32> {inarch.result}, %y: memref<7xf32> {inarch.result}) {
  %w = loop.alloc : memref<5x8xf32>
  loop.nest (i = 5, j = 8) ins(%k[j, i] : memref<8x5xf32>) outs(%w[i, j] : memref<5x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  loop.nest (i = 8, j = 5) outs(%k[i, j] : memref<8x5xf32>) {
  ^bb0(%o: f32):
    %r = arith.constant 1.0 : f32
    loop.yield %r : f32
  }
  %t = loop.alloc : memref<7x8xf32>
  loop.nest (m = 7, n = 8, k = 5 reduction) ins(%x[m, k] : memref<7x5xf32>, %w[k, n] : memref<5x8xf32>) outs(%t[m, n] init 0.0 : memref<7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  }
  loop.nest (i = 7, j = 8 reduction) ins(%t[i, j] : memref<7x8xf32>) outs(%y[i] init 0.0 : memref<7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// and what is backwards.
// CHECK-LABEL: func.func @backwards
// CHECK:      loop.nest (i = 5, j = 8) ins(%k[-j + 7, i]
// CHECK:      loop.for
// CHECK:        loop.nest (m = 3, n = 8, k = 5 reduction) ins(%{{.*}}[m, k] : {{.*}}, %{{.*}}[k, n] : memref<5x8xf32>)
func.func @backwards(%x: memref<7x5xf32>, %k: memref<8x5xf32>, %y: memref<7xf32> {inarch.result}) {
  %w = loop.alloc : memref<5x8xf32>
  loop.nest (i = 5, j = 8) ins(%k[-j + 7, i] : memref<8x5xf32>) outs(%w[i, j] : memref<5x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  %t = loop.alloc : memref<7x8xf32>
  loop.nest (m = 7, n = 8, k = 5 reduction) ins(%x[m, k] : memref<7x5xf32>, %w[k, n] : memref<5x8xf32>) outs(%t[m, n] init 0.0 : memref<7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  }
  loop.nest (i = 7, j = 8 reduction) ins(%t[i, j] : memref<7x8xf32>) outs(%y[i] init 0.0 : memref<7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    loop.yield %r : f32
  }
  func.return
}
