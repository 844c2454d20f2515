// RUN: inarch-opt %s -p outline-bodies,graph-to-loop,inline-bodies --split-input-file | filecheck %s

// The constant stands before the loop, scratch within.
// CHECK-LABEL: func.func @main(%a: memref<2xf32>, %b: memref<2xf32>, %w: memref<2xf32>, %out: memref<2xf32> {inarch.result}, %out_1: memref<3x2xf32> {inarch.result}) {
// CHECK-NEXT:    %0 = loop.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : memref<2xf32>
// CHECK-NEXT:    %1 = loop.alloc : memref<2xf32>
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%a[i0] : memref<2xf32>) outs(%out[i0] : memref<2xf32>) {
// CHECK-NEXT:    ^bb0(%2: f32, %3: f32):
// CHECK-NEXT:      loop.yield %2 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.nest (i0 = 2) ins(%b[i0] : memref<2xf32>) outs(%1[i0] : memref<2xf32>) {
// CHECK-NEXT:    ^bb0(%4: f32, %5: f32):
// CHECK-NEXT:      loop.yield %4 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %6 = loop.alloc : memref<2xf32>
// CHECK-NEXT:    loop.for %7 = 0 to 3 {
// CHECK-NEXT:      %8 = memref.subview %out_1[%7, 0] [1, 2] [1, 1] : memref<3x2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %9 = memref.subview %out[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %10 = memref.subview %1[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %11 = memref.subview %w[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %12 = memref.subview %6[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %13 = loop.alloc : memref<2xf32>
// CHECK-NEXT:      loop.nest (i0 = 2) ins(%9[i0] : memref<2xf32, strided<[1], offset: ?>>, %0[i0] : memref<2xf32>) outs(%13[i0] : memref<2xf32>) {
// CHECK-NEXT:      ^bb0(%14: f32, %15: f32, %16: f32):
// CHECK-NEXT:        %17 = arith.mulf %14, %15 : f32
// CHECK-NEXT:        loop.yield %17 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (i0 = 2) ins(%13[i0] : memref<2xf32>, %11[i0] : memref<2xf32, strided<[1], offset: ?>>) outs(%8[i0] : memref<2xf32, strided<[1], offset: ?>>) {
// CHECK-NEXT:      ^bb0(%18: f32, %19: f32, %20: f32):
// CHECK-NEXT:        %21 = arith.addf %18, %19 : f32
// CHECK-NEXT:        loop.yield %21 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (i0 = 2) ins(%10[i0] : memref<2xf32, strided<[1], offset: ?>>) outs(%12[i0] : memref<2xf32, strided<[1], offset: ?>>) {
// CHECK-NEXT:      ^bb0(%22: f32, %23: f32):
// CHECK-NEXT:        loop.yield %22 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (i0 = 2) ins(%6[i0] : memref<2xf32>) outs(%out[i0] : memref<2xf32>) {
// CHECK-NEXT:      ^bb0(%24: f32, %25: f32):
// CHECK-NEXT:        loop.yield %24 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (i0 = 2) ins(%8[i0] : memref<2xf32, strided<[1], offset: ?>>) outs(%1[i0] : memref<2xf32>) {
// CHECK-NEXT:      ^bb0(%26: f32, %27: f32):
// CHECK-NEXT:        loop.yield %26 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.yield
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

// A loop in a loop.
// CHECK-LABEL: func.func @main(%x: memref<f32>, %out: memref<f32> {inarch.result}) {
// CHECK-NEXT:    loop.nest () ins(%x[] : memref<f32>) outs(%out[] : memref<f32>) {
// CHECK-NEXT:    ^bb0(%0: f32, %1: f32):
// CHECK-NEXT:      loop.yield %0 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %2 = loop.alloc : memref<f32>
// CHECK-NEXT:    loop.for %3 = 0 to 3 {
// CHECK-NEXT:      %4 = memref.subview %out[] [] [] : memref<f32> to memref<f32, strided<[], offset: ?>>
// CHECK-NEXT:      %5 = memref.subview %2[] [] [] : memref<f32> to memref<f32, strided<[], offset: ?>>
// CHECK-NEXT:      loop.nest () ins(%4[] : memref<f32, strided<[], offset: ?>>) outs(%5[] : memref<f32, strided<[], offset: ?>>) {
// CHECK-NEXT:      ^bb0(%6: f32, %7: f32):
// CHECK-NEXT:        loop.yield %6 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      %8 = loop.alloc : memref<f32>
// CHECK-NEXT:      loop.for %9 = 0 to 3 {
// CHECK-NEXT:        %10 = memref.subview %8[] [] [] : memref<f32> to memref<f32, strided<[], offset: ?>>
// CHECK-NEXT:        loop.nest () ins(%5[] : memref<f32, strided<[], offset: ?>>) outs(%10[] : memref<f32, strided<[], offset: ?>>) {
// CHECK-NEXT:        ^bb0(%11: f32, %12: f32):
// CHECK-NEXT:          %13 = math.tanh %11 : f32
// CHECK-NEXT:          loop.yield %13 : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        loop.nest () ins(%8[] : memref<f32>) outs(%5[] : memref<f32, strided<[], offset: ?>>) {
// CHECK-NEXT:        ^bb0(%14: f32, %15: f32):
// CHECK-NEXT:          loop.yield %14 : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        loop.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest () ins(%2[] : memref<f32>) outs(%out[] : memref<f32>) {
// CHECK-NEXT:      ^bb0(%16: f32, %17: f32):
// CHECK-NEXT:        loop.yield %16 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = graph.scan 3 iterations from(%x) each() all() backward [] : (tensor<f32>) -> (tensor<f32>) {
  ^bb0(%s: tensor<f32>):
    %1 = graph.scan 3 iterations from(%s) each() all() backward [] : (tensor<f32>) -> (tensor<f32>) {
    ^bb1(%t: tensor<f32>):
      %2 = graph.tanh %t : tensor<f32> -> tensor<f32>
      graph.yield %2 : tensor<f32>
    }
    graph.yield %1 : tensor<f32>
  }
  func.return %0 : tensor<f32>
}

// -----

// Into branches.
// CHECK-LABEL: func.func @main(%c: memref<i1>, %x: memref<2x3xf32>, %w: memref<3x3xf32>, %out: memref<2x3xf32> {inarch.result}, %out_1: memref<2x3xf32> {inarch.result}) {
// CHECK-NEXT:    %0 = loop.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32> : memref<3xf32>
// CHECK-NEXT:    %1 = memref.load %c[] : memref<i1>
// CHECK-NEXT:    scf.if %1 {
// CHECK-NEXT:      %2 = memref.subview %x[0, 0] [2, 3] [1, 1] : memref<2x3xf32> to memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      %3 = memref.subview %w[0, 0] [3, 3] [1, 1] : memref<3x3xf32> to memref<3x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      %4 = memref.subview %out[0, 0] [2, 3] [1, 1] : memref<2x3xf32> to memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      %5 = loop.alloc : memref<2x3xf32>
// CHECK-NEXT:      loop.nest (m = 2, n = 3, k = 3 reduction) ins(%2[m, k] : memref<2x3xf32, strided<[3, 1], offset: ?>>, %3[k, n] : memref<3x3xf32, strided<[3, 1], offset: ?>>) outs(%5[m, n] init 0.0 : memref<2x3xf32>) {
// CHECK-NEXT:      ^bb0(%6: f32, %7: f32, %8: f32):
// CHECK-NEXT:        %9 = arith.mulf %6, %7 : f32
// CHECK-NEXT:        %10 = arith.addf %8, %9 : f32
// CHECK-NEXT:        loop.yield %10 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (i0 = 2, i1 = 3) ins(%5[i0, i1] : memref<2x3xf32>, %0[i1] : memref<3xf32>) outs(%4[i0, i1] : memref<2x3xf32, strided<[3, 1], offset: ?>>) {
// CHECK-NEXT:      ^bb0(%11: f32, %12: f32, %13: f32):
// CHECK-NEXT:        %14 = arith.addf %11, %12 : f32
// CHECK-NEXT:        loop.yield %14 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (i0 = 2, i1 = 3) ins(%out[i0, i1] : memref<2x3xf32>) outs(%out_1[i0, i1] : memref<2x3xf32>) {
// CHECK-NEXT:      ^bb0(%15: f32, %16: f32):
// CHECK-NEXT:        loop.yield %15 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %17 = memref.subview %x[0, 0] [2, 3] [1, 1] : memref<2x3xf32> to memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      %18 = memref.subview %w[0, 0] [3, 3] [1, 1] : memref<3x3xf32> to memref<3x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      %19 = memref.subview %out[0, 0] [2, 3] [1, 1] : memref<2x3xf32> to memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      %20 = memref.subview %out_1[0, 0] [2, 3] [1, 1] : memref<2x3xf32> to memref<2x3xf32, strided<[3, 1], offset: ?>>
// CHECK-NEXT:      loop.nest (i0 = 2, i1 = 3) ins(%17[i0, i1] : memref<2x3xf32, strided<[3, 1], offset: ?>>) outs(%20[i0, i1] : memref<2x3xf32, strided<[3, 1], offset: ?>>) {
// CHECK-NEXT:      ^bb0(%21: f32, %22: f32):
// CHECK-NEXT:        %23 = arith.negf %21 : f32
// CHECK-NEXT:        loop.yield %23 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (i0 = 2, i1 = 3) ins(%17[i0, i1] : memref<2x3xf32, strided<[3, 1], offset: ?>>) outs(%19[i0, i1] : memref<2x3xf32, strided<[3, 1], offset: ?>>) {
// CHECK-NEXT:      ^bb0(%24: f32, %25: f32):
// CHECK-NEXT:        loop.yield %24 : f32
// CHECK-NEXT:      }
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
