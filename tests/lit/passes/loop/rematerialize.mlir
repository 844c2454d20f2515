// RUN: inarch-opt %s --split-input-file -p rematerialize | filecheck %s

// `x - mean` for the sum of squares and for the result: both read x, and nobody keeps the difference.
// CHECK-LABEL: @centred
func.func @centred(%x: memref<4x8xf32>, %m: memref<4x1xf32>, %s: memref<4x1xf32>, %y: memref<4x8xf32>) {
  %d = loop.alloc : memref<4x8xf32>
  loop.nest (i = 4, j = 8) ins(%x[i, j] : memref<4x8xf32>, %m[i, 0] : memref<4x1xf32>) outs(%d[i, j] : memref<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 4, r = 8 reduction) ins(%d[i, r] : memref<4x8xf32>) outs(%s[i, 0] init 0.0 : memref<4x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %o, %0 : f32
    loop.yield %1 : f32
  }
  loop.nest (i = 4, j = 8) ins(%d[i, j] : memref<4x8xf32>, %s[i, 0] : memref<4x1xf32>) outs(%y[i, j] : memref<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    loop.yield %0 : f32
  }
  func.return
}
// CHECK-NOT:  loop.alloc
// CHECK:      loop.nest (i = 4, r = 8 reduction) ins(%x[i, r] : memref<4x8xf32>, %m[i, 0] : memref<4x1xf32>) outs(%s[i, 0]
// CHECK:      loop.nest (i = 4, j = 8) ins(%s[i, 0] : memref<4x1xf32>, %x[i, j] : memref<4x8xf32>, %m[i, 0] : memref<4x1xf32>) outs(%y[i, j]

// -----

// Two operands as large as the result: each reader would read more than it does.
// CHECK-LABEL: @two_large_operands
func.func @two_large_operands(%x: memref<8xf32>, %w: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  // CHECK-NEXT: %[[SUM:.*]] = loop.alloc
  // CHECK-NEXT: loop.nest (i = 8) ins(%x[i] : memref<8xf32>, %w[i] : memref<8xf32>) outs(%[[SUM]][i]
  %d = loop.alloc : memref<8xf32>
  loop.nest (i = 8) ins(%x[i] : memref<8xf32>, %w[i] : memref<8xf32>) outs(%d[i] : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 8) ins(%d[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 8) ins(%d[i] : memref<8xf32>) outs(%z[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  func.return
}

// -----

// What it reads is written before the second reader: that one needs the old sum.
// CHECK-LABEL: @written_in_between
func.func @written_in_between(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  // CHECK-NEXT: loop.alloc
  %d = loop.alloc : memref<8xf32>
  loop.nest (i = 8) ins(%x[i] : memref<8xf32>) outs(%d[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 8) ins(%d[i] : memref<8xf32>) outs(%x[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 8) ins(%d[i] : memref<8xf32>) outs(%z[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  func.return
}

// -----

// What it reads is written before the second reader.
// CHECK-LABEL: @written_between
// CHECK:      %[[D:.*]] = loop.alloc
// CHECK:      outs(%[[D]][i, j]
// CHECK:      ins(%[[D]][i, j]
func.func @written_between(%x: memref<4x8xf32>, %m: memref<4x1xf32>, %s: memref<4x1xf32>, %y: memref<4x8xf32>) {
  %d = loop.alloc : memref<4x8xf32>
  loop.nest (i = 4, j = 8) ins(%x[i, j] : memref<4x8xf32>, %m[i, 0] : memref<4x1xf32>) outs(%d[i, j] : memref<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 4, r = 8 reduction) ins(%d[i, r] : memref<4x8xf32>) outs(%s[i, 0] init 0.0 : memref<4x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %o, %0 : f32
    loop.yield %1 : f32
  }
  loop.nest (i = 4, j = 8) outs(%x[i, j] : memref<4x8xf32>) {
  ^bb0(%o: f32):
    %0 = arith.constant 0.0 : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 4, j = 8) ins(%d[i, j] : memref<4x8xf32>, %s[i, 0] : memref<4x1xf32>) outs(%y[i, j] : memref<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    loop.yield %0 : f32
  }
  func.return
}

// -----

// Another shape of it is read, too.
// CHECK-LABEL: @another_user
// CHECK:      %[[D:.*]] = loop.alloc
// CHECK:      outs(%[[D]][i, j]
// CHECK:      loop.reshape %[[D]]
func.func @another_user(%z: memref<32xf32>, %x: memref<4x8xf32>, %m: memref<4x1xf32>, %s: memref<4x1xf32>, %y: memref<4x8xf32>) {
  %d = loop.alloc : memref<4x8xf32>
  loop.nest (i = 4, j = 8) ins(%x[i, j] : memref<4x8xf32>, %m[i, 0] : memref<4x1xf32>) outs(%d[i, j] : memref<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 4, r = 8 reduction) ins(%d[i, r] : memref<4x8xf32>) outs(%s[i, 0] init 0.0 : memref<4x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %o, %0 : f32
    loop.yield %1 : f32
  }
  loop.nest (i = 4, j = 8) ins(%d[i, j] : memref<4x8xf32>, %s[i, 0] : memref<4x1xf32>) outs(%y[i, j] : memref<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    loop.yield %0 : f32
  }
  %e = loop.reshape %d : memref<4x8xf32> to memref<32xf32>
  loop.nest (i = 32) ins(%e[i] : memref<32xf32>) outs(%z[i] : memref<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  func.return
}
