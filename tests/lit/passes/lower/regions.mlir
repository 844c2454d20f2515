// RUN: inarch-opt %s -p outline-bodies,graph-to-loop --split-input-file | filecheck %s

// States in place, in the output where that is one; %n where it is stacked, from where the state is copied.
// CHECK-LABEL: func.func @main(%a: memref<2xf32>, %b: memref<2xf32>, %w: memref<2xf32>, %out: memref<2xf32> {inarch.result}, %out_1: memref<3x2xf32> {inarch.result}) {
// CHECK-NEXT:    %0 = loop.alloc : memref<2xf32>
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%a[i0] : memref<2xf32>) outs(%out[i0] : memref<2xf32>) {
// CHECK-NEXT:    ^bb0(%1: f32, %2: f32):
// CHECK-NEXT:      loop.yield %1 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%b[i0] : memref<2xf32>) outs(%0[i0] : memref<2xf32>) {
// CHECK-NEXT:    ^bb0(%3: f32, %4: f32):
// CHECK-NEXT:      loop.yield %3 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %5 = loop.alloc : memref<2xf32>
// CHECK-NEXT:    loop.for %6 = 0 to 3 {
// CHECK-NEXT:      %7 = memref.subview %out_1[%6, 0] [1, 2] [1, 1] : memref<3x2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %8 = memref.subview %out[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %9 = memref.subview %0[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %10 = memref.subview %w[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %11 = memref.subview %5[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      loop.call @main_body(%8, %9, %10, %11, %7) : memref<2xf32, strided<[1], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      loop.nest (i0 = 2) ins(%5[i0] : memref<2xf32>) outs(%out[i0] : memref<2xf32>) {
// CHECK-NEXT:      ^bb0(%12: f32, %13: f32):
// CHECK-NEXT:        loop.yield %12 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (i0 = 2) ins(%7[i0] : memref<2xf32, strided<[1], offset: ?>>) outs(%0[i0] : memref<2xf32>) {
// CHECK-NEXT:      ^bb0(%14: f32, %15: f32):
// CHECK-NEXT:        loop.yield %14 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
// CHECK-LABEL: func.func private @main_body(%0: memref<2xf32, strided<[1], offset: ?>>, %1: memref<2xf32, strided<[1], offset: ?>>, %2: memref<2xf32, strided<[1], offset: ?>> {inarch.iterations = 3 : i64}, %out: memref<2xf32, strided<[1], offset: ?>> {inarch.result}, %out_1: memref<2xf32, strided<[1], offset: ?>> {inarch.result}) attributes {inarch.body} {
// CHECK-NEXT:    %3 = loop.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : memref<2xf32>
// CHECK-NEXT:    %4 = loop.alloc : memref<2xf32>
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%0[i0] : memref<2xf32, strided<[1], offset: ?>>, %3[i0] : memref<2xf32>) outs(%4[i0] : memref<2xf32>) {
// CHECK-NEXT:    ^bb0(%5: f32, %6: f32, %7: f32):
// CHECK-NEXT:      %8 = arith.mulf %5, %6 : f32
// CHECK-NEXT:      loop.yield %8 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%4[i0] : memref<2xf32>, %2[i0] : memref<2xf32, strided<[1], offset: ?>>) outs(%out_1[i0] : memref<2xf32, strided<[1], offset: ?>>) {
// CHECK-NEXT:    ^bb0(%9: f32, %10: f32, %11: f32):
// CHECK-NEXT:      %12 = arith.addf %9, %10 : f32
// CHECK-NEXT:      loop.yield %12 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%1[i0] : memref<2xf32, strided<[1], offset: ?>>) outs(%out[i0] : memref<2xf32, strided<[1], offset: ?>>) {
// CHECK-NEXT:    ^bb0(%13: f32, %14: f32):
// CHECK-NEXT:      loop.yield %13 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
  %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s, %t, %ys = graph.scan 3 iterations from(%a, %b) each() all(%c, %w) backward [0] : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>) {
  ^bb0(%p: tensor<2xf32>, %q: tensor<2xf32>, %r: tensor<2xf32>, %v: tensor<2xf32>):
    %m = graph.mul %p, %r : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %n = graph.add %m, %v : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    graph.yield %q, %n, %n : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  func.return %s, %ys : tensor<2xf32>, tensor<3x2xf32>
}

// -----

// Rows from the last one on.
// CHECK-LABEL: func.func @main(%h0: memref<2x8xf32>, %xs: memref<5x2x8xf32>, %w: memref<8x8xf32>, %out: memref<2x8xf32> {inarch.result}, %out_1: memref<5x2x8xf32> {inarch.result}) {
// CHECK-NEXT:    loop.nest (i0 = 2, i1 = 8) ins(%h0[i0, i1] : memref<2x8xf32>) outs(%out[i0, i1] : memref<2x8xf32>) {
// CHECK-NEXT:    ^bb0(%0: f32, %1: f32):
// CHECK-NEXT:      loop.yield %0 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.for %2 = 0 to 5 {
// CHECK-NEXT:      %3 = arith.constant 4 : index
// CHECK-NEXT:      %4 = arith.subi %3, %2 : index
// CHECK-NEXT:      %5 = memref.subview %xs[%4, 0, 0] [1, 2, 8] [1, 1, 1] : memref<5x2x8xf32> to memref<2x8xf32, strided<[8, 1], offset: ?>>
// CHECK-NEXT:      %6 = memref.subview %out_1[%2, 0, 0] [1, 2, 8] [1, 1, 1] : memref<5x2x8xf32> to memref<2x8xf32, strided<[8, 1], offset: ?>>
// CHECK-NEXT:      %7 = memref.subview %out[0, 0] [2, 8] [1, 1] : memref<2x8xf32> to memref<2x8xf32, strided<[8, 1], offset: ?>>
// CHECK-NEXT:      %8 = memref.subview %w[0, 0] [8, 8] [1, 1] : memref<8x8xf32> to memref<8x8xf32, strided<[8, 1], offset: ?>>
// CHECK-NEXT:      loop.call @main_body(%7, %5, %8, %6) : memref<2x8xf32, strided<[8, 1], offset: ?>>, memref<2x8xf32, strided<[8, 1], offset: ?>>, memref<8x8xf32, strided<[8, 1], offset: ?>>, memref<2x8xf32, strided<[8, 1], offset: ?>>
// CHECK-NEXT:      loop.nest (i0 = 2, i1 = 8) ins(%6[i0, i1] : memref<2x8xf32, strided<[8, 1], offset: ?>>) outs(%out[i0, i1] : memref<2x8xf32>) {
// CHECK-NEXT:      ^bb0(%9: f32, %10: f32):
// CHECK-NEXT:        loop.yield %9 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
// CHECK-LABEL: func.func private @main_body(%0: memref<2x8xf32, strided<[8, 1], offset: ?>>, %1: memref<2x8xf32, strided<[8, 1], offset: ?>>, %2: memref<8x8xf32, strided<[8, 1], offset: ?>> {inarch.iterations = 5 : i64}, %out: memref<2x8xf32, strided<[8, 1], offset: ?>> {inarch.result}) attributes {inarch.body} {
// CHECK-NEXT:    %3 = loop.alloc : memref<2x8xf32>
// CHECK-NEXT:    loop.nest (m = 2, n = 8, k = 8 reduction) ins(%0[m, k] : memref<2x8xf32, strided<[8, 1], offset: ?>>, %2[k, n] : memref<8x8xf32, strided<[8, 1], offset: ?>>) outs(%3[m, n] init 0.0 : memref<2x8xf32>) {
// CHECK-NEXT:    ^bb0(%4: f32, %5: f32, %6: f32):
// CHECK-NEXT:      %7 = arith.mulf %4, %5 : f32
// CHECK-NEXT:      %8 = arith.addf %6, %7 : f32
// CHECK-NEXT:      loop.yield %8 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %9 = loop.alloc : memref<2x8xf32>
// CHECK-NEXT:    loop.nest (i0 = 2, i1 = 8) ins(%3[i0, i1] : memref<2x8xf32>, %1[i0, i1] : memref<2x8xf32, strided<[8, 1], offset: ?>>) outs(%9[i0, i1] : memref<2x8xf32>) {
// CHECK-NEXT:    ^bb0(%10: f32, %11: f32, %12: f32):
// CHECK-NEXT:      %13 = arith.addf %10, %11 : f32
// CHECK-NEXT:      loop.yield %13 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.nest (i0 = 2, i1 = 8) ins(%9[i0, i1] : memref<2x8xf32>) outs(%out[i0, i1] : memref<2x8xf32, strided<[8, 1], offset: ?>>) {
// CHECK-NEXT:    ^bb0(%14: f32, %15: f32):
// CHECK-NEXT:      %16 = math.tanh %14 : f32
// CHECK-NEXT:      loop.yield %16 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @main(%h0: tensor<2x8xf32>, %xs: tensor<5x2x8xf32>, %w: tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<5x2x8xf32>) {
  %h, %ys = graph.scan 5 iterations from(%h0) each(%xs) all(%w) backward [1, 0] : (tensor<2x8xf32>, tensor<5x2x8xf32>, tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<5x2x8xf32>) {
  ^bb0(%s: tensor<2x8xf32>, %x: tensor<2x8xf32>, %r: tensor<8x8xf32>):
    %p = graph.matmul %s, %r : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
    %q = graph.add %p, %x : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<2x8xf32>
    %t = graph.tanh %q : tensor<2x8xf32> -> tensor<2x8xf32>
    graph.yield %t, %t : tensor<2x8xf32>, tensor<2x8xf32>
  }
  func.return %h, %ys : tensor<2x8xf32>, tensor<5x2x8xf32>
}

// -----

// Branches write the results.
// CHECK-LABEL: func.func @main(%c: memref<i1>, %x: memref<2x3xf32>, %w: memref<3x3xf32>, %out: memref<2x3xf32> {inarch.result}, %out_1: memref<2x3xf32> {inarch.result}) {
// CHECK-NEXT:    %0 = memref.load %c[] : memref<i1>
// CHECK-NEXT:    scf.if %0 {
// CHECK-NEXT:      %1 = memref.subview %x[0, 0] [2, 3] [1, 1] : memref<2x3xf32> to memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      %2 = memref.subview %w[0, 0] [3, 3] [1, 1] : memref<3x3xf32> to memref<3x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      %3 = memref.subview %out[0, 0] [2, 3] [1, 1] : memref<2x3xf32> to memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      loop.call @main_body(%1, %2, %3) : memref<2x3xf32, strided<[3, 1], offset: ?>>, memref<3x3xf32, strided<[3, 1], offset: ?>>, memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      loop.nest (i0 = 2, i1 = 3) ins(%out[i0, i1] : memref<2x3xf32>) outs(%out_1[i0, i1] : memref<2x3xf32>) {
// CHECK-NEXT:      ^bb0(%4: f32, %5: f32):
// CHECK-NEXT:        loop.yield %4 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %6 = memref.subview %x[0, 0] [2, 3] [1, 1] : memref<2x3xf32> to memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      %7 = memref.subview %w[0, 0] [3, 3] [1, 1] : memref<3x3xf32> to memref<3x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      %8 = memref.subview %out[0, 0] [2, 3] [1, 1] : memref<2x3xf32> to memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      %9 = memref.subview %out_1[0, 0] [2, 3] [1, 1] : memref<2x3xf32> to memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      loop.call @main_body_1(%6, %7, %8, %9) : memref<2x3xf32, strided<[3, 1], offset: ?>>, memref<3x3xf32, strided<[3, 1], offset: ?>>, memref<2x3xf32, strided<[3, 1], offset: ?>>, memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
// CHECK-LABEL: func.func private @main_body(%0: memref<2x3xf32, strided<[3, 1], offset: ?>>, %1: memref<3x3xf32, strided<[3, 1], offset: ?>>, %out: memref<2x3xf32, strided<[3, 1], offset: ?>> {inarch.result}) attributes {inarch.body} {
// CHECK-NEXT:    %2 = loop.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32> : memref<3xf32>
// CHECK-NEXT:    %3 = loop.alloc : memref<2x3xf32>
// CHECK-NEXT:    loop.nest (m = 2, n = 3, k = 3 reduction) ins(%0[m, k] : memref<2x3xf32, strided<[3, 1], offset: ?>>, %1[k, n] : memref<3x3xf32, strided<[3, 1], offset: ?>>) outs(%3[m, n] init 0.0 : memref<2x3xf32>) {
// CHECK-NEXT:    ^bb0(%4: f32, %5: f32, %6: f32):
// CHECK-NEXT:      %7 = arith.mulf %4, %5 : f32
// CHECK-NEXT:      %8 = arith.addf %6, %7 : f32
// CHECK-NEXT:      loop.yield %8 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.nest (i0 = 2, i1 = 3) ins(%3[i0, i1] : memref<2x3xf32>, %2[i1] : memref<3xf32>) outs(%out[i0, i1] : memref<2x3xf32, strided<[3, 1], offset: ?>>) {
// CHECK-NEXT:    ^bb0(%9: f32, %10: f32, %11: f32):
// CHECK-NEXT:      %12 = arith.addf %9, %10 : f32
// CHECK-NEXT:      loop.yield %12 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
// CHECK-LABEL: func.func private @main_body_1(%0: memref<2x3xf32, strided<[3, 1], offset: ?>>, %1: memref<3x3xf32, strided<[3, 1], offset: ?>>, %out: memref<2x3xf32, strided<[3, 1], offset: ?>> {inarch.result}, %out_1: memref<2x3xf32, strided<[3, 1], offset: ?>> {inarch.result}) attributes {inarch.body} {
// CHECK-NEXT:    loop.nest (i0 = 2, i1 = 3) ins(%0[i0, i1] : memref<2x3xf32, strided<[3, 1], offset: ?>>) outs(%out_1[i0, i1] : memref<2x3xf32, strided<[3, 1], offset: ?>>) {
// CHECK-NEXT:    ^bb0(%2: f32, %3: f32):
// CHECK-NEXT:      %4 = arith.negf %2 : f32
// CHECK-NEXT:      loop.yield %4 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.nest (i0 = 2, i1 = 3) ins(%0[i0, i1] : memref<2x3xf32, strided<[3, 1], offset: ?>>) outs(%out[i0, i1] : memref<2x3xf32, strided<[3, 1], offset: ?>>) {
// CHECK-NEXT:    ^bb0(%5: f32, %6: f32):
// CHECK-NEXT:      loop.yield %5 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @main(%c: tensor<i1>, %x: tensor<2x3xf32>, %w: tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %k = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %y, %z = graph.if %c(%x, %w, %k) : (tensor<i1>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>, %d: tensor<3xf32>):
    %p = graph.matmul %a, %b : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
    %q = graph.add %p, %d : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    graph.yield %q, %q : tensor<2x3xf32>, tensor<2x3xf32>
  } else {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>, %d: tensor<3xf32>):
    %n = graph.neg %a : tensor<2x3xf32> -> tensor<2x3xf32>
    graph.yield %a, %n : tensor<2x3xf32>, tensor<2x3xf32>
  }
  func.return %y, %z : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// States in place, which change places through scratch; the condition is beside them, and written by the body.
// CHECK-LABEL: func.func @main(%n: memref<i64>, %c: memref<i1>, %a: memref<2xf32>, %b: memref<2xf32>, %w: memref<2xf32>, %out: memref<2xf32> {inarch.result}, %out_1: memref<2xf32> {inarch.result}) {
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%a[i0] : memref<2xf32>) outs(%out[i0] : memref<2xf32>) {
// CHECK-NEXT:    ^bb0(%0: f32, %1: f32):
// CHECK-NEXT:      loop.yield %0 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%b[i0] : memref<2xf32>) outs(%out_1[i0] : memref<2xf32>) {
// CHECK-NEXT:    ^bb0(%2: f32, %3: f32):
// CHECK-NEXT:      loop.yield %2 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %4 = loop.alloc : memref<i1>
// CHECK-NEXT:    %5 = loop.alloc : memref<i64>
// CHECK-NEXT:    loop.nest () ins(%c[] : memref<i1>) outs(%4[] : memref<i1>) {
// CHECK-NEXT:    ^bb0(%6: i1, %7: i1):
// CHECK-NEXT:      loop.yield %6 : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    %8 = loop.alloc : memref<2xf32>
// CHECK-NEXT:    %9 = loop.alloc : memref<2xf32>
// CHECK-NEXT:    %10 = memref.load %n[] : memref<i64>
// CHECK-NEXT:    %11 = arith.index_cast %10 : i64 to index
// CHECK-NEXT:    %12 = arith.constant 0 : index
// CHECK-NEXT:    %13 = arith.constant 1 : index
// CHECK-NEXT:    loop.while %14 = %12 to %11 step %13 if %4 : memref<i1> {
// CHECK-NEXT:      %15 = arith.index_cast %14 : index to i64
// CHECK-NEXT:      memref.store %15, %5[] : memref<i64>
// CHECK-NEXT:      %16 = memref.subview %5[] [] [] : memref<i64> to memref<i64, strided<[], offset: ?>>
// CHECK-NEXT:      %17 = memref.subview %out[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %18 = memref.subview %out_1[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %19 = memref.subview %w[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %20 = memref.subview %4[] [] [] : memref<i1> to memref<i1, strided<[], offset: ?>>
// CHECK-NEXT:      %21 = memref.subview %8[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %22 = memref.subview %9[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      loop.call @main_body(%16, %17, %18, %19, %20, %21, %22) : memref<i64, strided<[], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>, memref<i1, strided<[], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      loop.nest (i0 = 2) ins(%8[i0] : memref<2xf32>) outs(%out[i0] : memref<2xf32>) {
// CHECK-NEXT:      ^bb0(%23: f32, %24: f32):
// CHECK-NEXT:        loop.yield %23 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (i0 = 2) ins(%9[i0] : memref<2xf32>) outs(%out_1[i0] : memref<2xf32>) {
// CHECK-NEXT:      ^bb0(%25: f32, %26: f32):
// CHECK-NEXT:        loop.yield %25 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
// CHECK-LABEL: func.func private @main_body(%0: memref<i64, strided<[], offset: ?>>, %1: memref<2xf32, strided<[1], offset: ?>>, %2: memref<2xf32, strided<[1], offset: ?>>, %3: memref<2xf32, strided<[1], offset: ?>>, %out: memref<i1, strided<[], offset: ?>> {inarch.result}, %out_1: memref<2xf32, strided<[1], offset: ?>> {inarch.result}, %out_2: memref<2xf32, strided<[1], offset: ?>> {inarch.result}) attributes {inarch.body} {
// CHECK-NEXT:    %4 = loop.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : memref<2xf32>
// CHECK-NEXT:    %5 = loop.constant dense<3> : tensor<i64> : memref<i64>
// CHECK-NEXT:    loop.nest () ins(%0[] : memref<i64, strided<[], offset: ?>>, %5[] : memref<i64>) outs(%out[] : memref<i1, strided<[], offset: ?>>) {
// CHECK-NEXT:    ^bb0(%6: i64, %7: i64, %8: i1):
// CHECK-NEXT:      %9 = arith.cmpi slt, %6, %7 : i64
// CHECK-NEXT:      loop.yield %9 : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    %10 = loop.alloc : memref<2xf32>
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%1[i0] : memref<2xf32, strided<[1], offset: ?>>, %4[i0] : memref<2xf32>) outs(%10[i0] : memref<2xf32>) {
// CHECK-NEXT:    ^bb0(%11: f32, %12: f32, %13: f32):
// CHECK-NEXT:      %14 = arith.mulf %11, %12 : f32
// CHECK-NEXT:      loop.yield %14 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%10[i0] : memref<2xf32>, %3[i0] : memref<2xf32, strided<[1], offset: ?>>) outs(%out_2[i0] : memref<2xf32, strided<[1], offset: ?>>) {
// CHECK-NEXT:    ^bb0(%15: f32, %16: f32, %17: f32):
// CHECK-NEXT:      %18 = arith.addf %15, %16 : f32
// CHECK-NEXT:      loop.yield %18 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%2[i0] : memref<2xf32, strided<[1], offset: ?>>) outs(%out_1[i0] : memref<2xf32, strided<[1], offset: ?>>) {
// CHECK-NEXT:    ^bb0(%19: f32, %20: f32):
// CHECK-NEXT:      loop.yield %19 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @main(%n: tensor<i64>, %c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %k = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s, %t = graph.while %n if %c from(%a, %b) all(%k, %w) attributes {note} : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %p: tensor<2xf32>, %q: tensor<2xf32>, %r: tensor<2xf32>, %v: tensor<2xf32>):
    %three = graph.constant dense<3> : tensor<i64>
    %g = graph.less %i, %three : tensor<i64>, tensor<i64> -> tensor<i1>
    %m = graph.mul %p, %r : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %o = graph.add %m, %v : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    graph.yield %g, %q, %o : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  func.return %s, %t : tensor<2xf32>, tensor<2xf32>
}
