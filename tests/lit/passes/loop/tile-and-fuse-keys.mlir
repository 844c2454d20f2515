// RUN: inarch-opt %s -p 'tile-and-fuse{rows=3 keys=4 always=true}' --split-input-file | filecheck %s

// A softmax by blocks of rows, and in each by blocks of keys, with a running maximum %M, sum %L and result %O.
// CHECK-LABEL: func.func @main
// CHECK:      loop.for %m = 0 to 6 step 3 {
// CHECK-NEXT:   %M = loop.alloc : memref<3xf32>
// CHECK-NEXT:   %L = loop.alloc : memref<3xf32>
// CHECK-NEXT:   %O = loop.alloc : memref<3x3xf32>
// CHECK:        loop.nest (i0 = 3) outs(%M[i0] : memref<3xf32>) {
// CHECK:          arith.constant -3.40282347e+38 : f32
// CHECK:        loop.for %n = 0 to 8 step 4 {
// CHECK-NEXT:     %[[S:.*]] = loop.alloc : memref<3x4xf32>
// CHECK-NEXT:     %[[W:.*]] = loop.alloc : memref<3x4xf32>
// CHECK-NEXT:     %k_1 = memref.subview %k[0, %n] [5, 4] [1, 1]
// CHECK:          loop.nest (m = 3, n = 4, k = 5 reduction)
// CHECK:          loop.nest (i0 = 3, r1 = 4 reduction) ins(%[[S]][i0, r1] : memref<3x4xf32>) outs(%[[B:.*]][i0, 0] init -3.4028234663852886e+38 : memref<3x1xf32>)
// CHECK:          loop.nest (i0 = 3) ins(%M[i0] : memref<3xf32>, %[[B]][i0, 0] : memref<3x1xf32>) outs(%C[i0] : memref<3xf32>)
// CHECK:          loop.nest (i0 = 3) ins(%[[B]][i0, 0] : memref<3x1xf32>) outs(%M[i0] : memref<3xf32>)
// CHECK:          loop.nest (i0 = 3, i1 = 4) ins(%[[S]][i0, i1] : memref<3x4xf32>, %M[i0] : memref<3xf32>) outs(%[[W]][i0, i1]
// CHECK:          loop.nest (i0 = 3, r1 = 4 reduction) ins(%[[W]][i0, r1] : memref<3x4xf32>) outs(%l[i0, 0] init 0.0
// CHECK:          loop.nest (i0 = 3) ins(%C[i0] : memref<3xf32>, %l[i0, 0] : memref<3x1xf32>) outs(%L[i0] : memref<3xf32>)
// CHECK:          %v_1 = memref.subview %v[%n, 0] [4, 3] [1, 1]
// CHECK-NEXT:     loop.nest (m = 3, n = 3, k = 4 reduction) ins(%[[W]][m, k] : memref<3x4xf32>, %v_1[k, n] {{.*}} outs(%o[m, n] init 0.0
// CHECK-NOT:      finish
// CHECK:          loop.nest (i0 = 3, i1 = 3) ins(%C[i0] : memref<3xf32>, %o[i0, i1] : memref<3x3xf32>) outs(%O[i0, i1]
// CHECK:        loop.for %n_1 = 8 to 9 {
// CHECK:        loop.nest (i0 = 3) ins(%L[i0] : memref<3xf32>) outs(%[[R:.*]][i0, 0] : memref<3x1xf32>)
// CHECK:          arith.divf
// CHECK:        loop.nest (i0 = 3, i1 = 3) ins(%O[i0, i1] : memref<3x3xf32>, %[[R]][i0, 0] : memref<3x1xf32>) outs(%out_1[i0, i1]
// CHECK:      loop.for %m_1 = 6 to 7 {
func.func @main(%q: memref<7x5xf32>, %k: memref<5x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x9xf32>
  loop.nest (m = 7, n = 9, k = 5 reduction) ins(%q[m, k] : memref<7x5xf32>, %k[k, n] : memref<5x9xf32>) outs(%0[m, n] init 0.0 : memref<7x9xf32>) {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %3, %4 : f32
    loop.yield %5 : f32
  }
  %6 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%0[i0, r1] : memref<7x9xf32>) outs(%6[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.maximumf %8, %7 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%0[i0, i1] : memref<7x9xf32>, %6[i0, 0] : memref<7x1xf32>) outs(%10[i0, i1] : memref<7x9xf32>) {
  ^bb0(%11: f32, %12: f32, %13: f32):
    %14 = arith.subf %11, %12 : f32
    %15 = math.exp %14 : f32
    loop.yield %15 : f32
  }
  %16 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%10[i0, r1] : memref<7x9xf32>) outs(%16[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%17: f32, %18: f32):
    %19 = arith.addf %18, %17 : f32
    loop.yield %19 : f32
  } finish {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 1.000000e+00 : f32
    %23 = arith.divf %22, %21 : f32
    loop.yield %23 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%10[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>, %16[m, 0] : memref<7x1xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%24: f32, %25: f32, %26: f32, %27: f32):
    %28 = arith.mulf %24, %25 : f32
    %29 = arith.addf %27, %28 : f32
    loop.yield %29 : f32
  } finish {
  ^bb0(%30: f32, %31: f32, %32: f32, %33: f32):
    %34 = arith.mulf %33, %32 : f32
    loop.yield %34 : f32
  }
  func.return
}

// -----

// The maximum of all keys is asked for by somebody else, too: that of a block is not it.
// CHECK-LABEL: func.func @maximum
// CHECK-NOT:  loop.for %n
func.func @maximum(%q: memref<7x5xf32>, %k: memref<5x9xf32>, %v: memref<9x3xf32>, %z: memref<7x1xf32> {inarch.result}, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x9xf32>
  loop.nest (m = 7, n = 9, k = 5 reduction) ins(%q[m, k] : memref<7x5xf32>, %k[k, n] : memref<5x9xf32>) outs(%0[m, n] init 0.0 : memref<7x9xf32>) {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %3, %4 : f32
    loop.yield %5 : f32
  }
  %6 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%0[i0, r1] : memref<7x9xf32>) outs(%6[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.maximumf %8, %7 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%0[i0, i1] : memref<7x9xf32>, %6[i0, 0] : memref<7x1xf32>) outs(%10[i0, i1] : memref<7x9xf32>) {
  ^bb0(%11: f32, %12: f32, %13: f32):
    %14 = arith.subf %11, %12 : f32
    %15 = math.exp %14 : f32
    loop.yield %15 : f32
  }
  %16 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%10[i0, r1] : memref<7x9xf32>) outs(%16[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%17: f32, %18: f32):
    %19 = arith.addf %18, %17 : f32
    loop.yield %19 : f32
  } finish {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 1.000000e+00 : f32
    %23 = arith.divf %22, %21 : f32
    loop.yield %23 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%10[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>, %16[m, 0] : memref<7x1xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%24: f32, %25: f32, %26: f32, %27: f32):
    %28 = arith.mulf %24, %25 : f32
    %29 = arith.addf %27, %28 : f32
    loop.yield %29 : f32
  } finish {
  ^bb0(%30: f32, %31: f32, %32: f32, %33: f32):
    %34 = arith.mulf %33, %32 : f32
    loop.yield %34 : f32
  }
  loop.nest (i = 7) ins(%6[i, 0] : memref<7x1xf32>, %16[i, 0] : memref<7x1xf32>) outs(%z[i, 0] : memref<7x1xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// So are the weights.
// CHECK-LABEL: func.func @weights
// CHECK-NOT:  loop.for %n
func.func @weights(%q: memref<7x5xf32>, %k: memref<5x9xf32>, %v: memref<9x3xf32>, %z: memref<7x9xf32> {inarch.result}, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x9xf32>
  loop.nest (m = 7, n = 9, k = 5 reduction) ins(%q[m, k] : memref<7x5xf32>, %k[k, n] : memref<5x9xf32>) outs(%0[m, n] init 0.0 : memref<7x9xf32>) {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %3, %4 : f32
    loop.yield %5 : f32
  }
  %6 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%0[i0, r1] : memref<7x9xf32>) outs(%6[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.maximumf %8, %7 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%0[i0, i1] : memref<7x9xf32>, %6[i0, 0] : memref<7x1xf32>) outs(%10[i0, i1] : memref<7x9xf32>) {
  ^bb0(%11: f32, %12: f32, %13: f32):
    %14 = arith.subf %11, %12 : f32
    %15 = math.exp %14 : f32
    loop.yield %15 : f32
  }
  %16 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%10[i0, r1] : memref<7x9xf32>) outs(%16[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%17: f32, %18: f32):
    %19 = arith.addf %18, %17 : f32
    loop.yield %19 : f32
  } finish {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 1.000000e+00 : f32
    %23 = arith.divf %22, %21 : f32
    loop.yield %23 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%10[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>, %16[m, 0] : memref<7x1xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%24: f32, %25: f32, %26: f32, %27: f32):
    %28 = arith.mulf %24, %25 : f32
    %29 = arith.addf %27, %28 : f32
    loop.yield %29 : f32
  } finish {
  ^bb0(%30: f32, %31: f32, %32: f32, %33: f32):
    %34 = arith.mulf %33, %32 : f32
    loop.yield %34 : f32
  }
  loop.nest (i = 7, j = 9) ins(%10[i, j] : memref<7x9xf32>) outs(%z[i, j] : memref<7x9xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// What is made of the sum, or of the result, is made behind the loop over the keys.
// CHECK-LABEL: func.func @behind
// CHECK:      loop.for %n_1 = 8 to 9
// CHECK:      arith.divf
// CHECK-NOT:  loop.for
// CHECK:      arith.negf
// CHECK:      loop.for
func.func @behind(%q: memref<7x5xf32>, %k: memref<5x9xf32>, %v: memref<9x3xf32>, %z: memref<7x1xf32> {inarch.result}, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x9xf32>
  loop.nest (m = 7, n = 9, k = 5 reduction) ins(%q[m, k] : memref<7x5xf32>, %k[k, n] : memref<5x9xf32>) outs(%0[m, n] init 0.0 : memref<7x9xf32>) {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %3, %4 : f32
    loop.yield %5 : f32
  }
  %6 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%0[i0, r1] : memref<7x9xf32>) outs(%6[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.maximumf %8, %7 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%0[i0, i1] : memref<7x9xf32>, %6[i0, 0] : memref<7x1xf32>) outs(%10[i0, i1] : memref<7x9xf32>) {
  ^bb0(%11: f32, %12: f32, %13: f32):
    %14 = arith.subf %11, %12 : f32
    %15 = math.exp %14 : f32
    loop.yield %15 : f32
  }
  %16 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%10[i0, r1] : memref<7x9xf32>) outs(%16[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%17: f32, %18: f32):
    %19 = arith.addf %18, %17 : f32
    loop.yield %19 : f32
  } finish {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 1.000000e+00 : f32
    %23 = arith.divf %22, %21 : f32
    loop.yield %23 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%10[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>, %16[m, 0] : memref<7x1xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%24: f32, %25: f32, %26: f32, %27: f32):
    %28 = arith.mulf %24, %25 : f32
    %29 = arith.addf %27, %28 : f32
    loop.yield %29 : f32
  } finish {
  ^bb0(%30: f32, %31: f32, %32: f32, %33: f32):
    %34 = arith.mulf %33, %32 : f32
    loop.yield %34 : f32
  }
  loop.nest (i = 7) ins(%16[i, 0] : memref<7x1xf32>) outs(%z[i, 0] : memref<7x1xf32>) {
  ^bb0(%b: f32, %o: f32):
    %r = arith.negf %b : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// What has no keys is made before it.
// CHECK-LABEL: func.func @before
// CHECK:      math.absf
// CHECK:      loop.for %n = 0 to 8 step 4
func.func @before(%q: memref<7x5xf32>, %k: memref<5x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %s = loop.alloc : memref<7x5xf32>
  loop.nest (i = 7, j = 5) ins(%q[i, j] : memref<7x5xf32>) outs(%s[i, j] : memref<7x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.absf %a : f32
    loop.yield %r : f32
  }
  %0 = loop.alloc : memref<7x9xf32>
  loop.nest (m = 7, n = 9, k = 5 reduction) ins(%s[m, k] : memref<7x5xf32>, %k[k, n] : memref<5x9xf32>) outs(%0[m, n] init 0.0 : memref<7x9xf32>) {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %3, %4 : f32
    loop.yield %5 : f32
  }
  %6 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%0[i0, r1] : memref<7x9xf32>) outs(%6[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.maximumf %8, %7 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%0[i0, i1] : memref<7x9xf32>, %6[i0, 0] : memref<7x1xf32>) outs(%10[i0, i1] : memref<7x9xf32>) {
  ^bb0(%11: f32, %12: f32, %13: f32):
    %14 = arith.subf %11, %12 : f32
    %15 = math.exp %14 : f32
    loop.yield %15 : f32
  }
  %16 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%10[i0, r1] : memref<7x9xf32>) outs(%16[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%17: f32, %18: f32):
    %19 = arith.addf %18, %17 : f32
    loop.yield %19 : f32
  } finish {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 1.000000e+00 : f32
    %23 = arith.divf %22, %21 : f32
    loop.yield %23 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%10[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>, %16[m, 0] : memref<7x1xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%24: f32, %25: f32, %26: f32, %27: f32):
    %28 = arith.mulf %24, %25 : f32
    %29 = arith.addf %27, %28 : f32
    loop.yield %29 : f32
  } finish {
  ^bb0(%30: f32, %31: f32, %32: f32, %33: f32):
    %34 = arith.mulf %33, %32 : f32
    loop.yield %34 : f32
  }
  func.return
}

// -----

// Of all but one of the keys there are other blocks.
// CHECK-LABEL: func.func @fewer
// CHECK-NOT:  loop.for %n
func.func @fewer(%q: memref<7x5xf32>, %k: memref<5x9xf32>, %v: memref<9x3xf32>, %z: memref<7x8xf32> {inarch.result}, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x9xf32>
  loop.nest (m = 7, n = 9, k = 5 reduction) ins(%q[m, k] : memref<7x5xf32>, %k[k, n] : memref<5x9xf32>) outs(%0[m, n] init 0.0 : memref<7x9xf32>) {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %3, %4 : f32
    loop.yield %5 : f32
  }
  %6 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%0[i0, r1] : memref<7x9xf32>) outs(%6[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.maximumf %8, %7 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%0[i0, i1] : memref<7x9xf32>, %6[i0, 0] : memref<7x1xf32>) outs(%10[i0, i1] : memref<7x9xf32>) {
  ^bb0(%11: f32, %12: f32, %13: f32):
    %14 = arith.subf %11, %12 : f32
    %15 = math.exp %14 : f32
    loop.yield %15 : f32
  }
  %16 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%10[i0, r1] : memref<7x9xf32>) outs(%16[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%17: f32, %18: f32):
    %19 = arith.addf %18, %17 : f32
    loop.yield %19 : f32
  } finish {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 1.000000e+00 : f32
    %23 = arith.divf %22, %21 : f32
    loop.yield %23 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%10[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>, %16[m, 0] : memref<7x1xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%24: f32, %25: f32, %26: f32, %27: f32):
    %28 = arith.mulf %24, %25 : f32
    %29 = arith.addf %27, %28 : f32
    loop.yield %29 : f32
  } finish {
  ^bb0(%30: f32, %31: f32, %32: f32, %33: f32):
    %34 = arith.mulf %33, %32 : f32
    loop.yield %34 : f32
  }
  loop.nest (i = 7, j = 8) ins(%0[i, j] : memref<7x9xf32>) outs(%z[i, j] : memref<7x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// The sum of all keys is a factor of each term.
// CHECK-LABEL: func.func @sum_in_a_factor
// CHECK-NOT:  loop.for %n
func.func @sum_in_a_factor(%q: memref<7x5xf32>, %k: memref<5x9xf32>, %out: memref<7x1xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x9xf32>
  loop.nest (m = 7, n = 9, k = 5 reduction) ins(%q[m, k] : memref<7x5xf32>, %k[k, n] : memref<5x9xf32>) outs(%0[m, n] init 0.0 : memref<7x9xf32>) {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %3, %4 : f32
    loop.yield %5 : f32
  }
  %6 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%0[i0, r1] : memref<7x9xf32>) outs(%6[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.maximumf %8, %7 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%0[i0, i1] : memref<7x9xf32>, %6[i0, 0] : memref<7x1xf32>) outs(%10[i0, i1] : memref<7x9xf32>) {
  ^bb0(%11: f32, %12: f32, %13: f32):
    %14 = arith.subf %11, %12 : f32
    %15 = math.exp %14 : f32
    loop.yield %15 : f32
  }
  %16 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%10[i0, r1] : memref<7x9xf32>) outs(%16[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%17: f32, %18: f32):
    %19 = arith.addf %18, %17 : f32
    loop.yield %19 : f32
  } finish {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 1.000000e+00 : f32
    %23 = arith.divf %22, %21 : f32
    loop.yield %23 : f32
  }
  loop.nest (m = 7, n = 1, k = 9 reduction) ins(%10[m, k] : memref<7x9xf32>, %16[m, 0] : memref<7x1xf32>) outs(%out[m, n] init 0.0 : memref<7x1xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// A block of what is read backwards does not begin where the keys do.
// CHECK-LABEL: func.func @backwards
// CHECK-NOT:  loop.for %n
func.func @backwards(%q: memref<7x5xf32>, %k: memref<5x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x9xf32>
  loop.nest (m = 7, n = 9, k = 5 reduction) ins(%q[m, k] : memref<7x5xf32>, %k[k, n] : memref<5x9xf32>) outs(%0[m, n] init 0.0 : memref<7x9xf32>) {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %3, %4 : f32
    loop.yield %5 : f32
  }
  %6 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%0[i0, r1] : memref<7x9xf32>) outs(%6[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.maximumf %8, %7 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%0[i0, i1] : memref<7x9xf32>, %6[i0, 0] : memref<7x1xf32>) outs(%10[i0, i1] : memref<7x9xf32>) {
  ^bb0(%11: f32, %12: f32, %13: f32):
    %14 = arith.subf %11, %12 : f32
    %15 = math.exp %14 : f32
    loop.yield %15 : f32
  }
  %16 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%10[i0, r1] : memref<7x9xf32>) outs(%16[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%17: f32, %18: f32):
    %19 = arith.addf %18, %17 : f32
    loop.yield %19 : f32
  } finish {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 1.000000e+00 : f32
    %23 = arith.divf %22, %21 : f32
    loop.yield %23 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%10[m, k] : memref<7x9xf32>, %v[-k + 8, n] : memref<9x3xf32>, %16[m, 0] : memref<7x1xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%24: f32, %25: f32, %26: f32, %27: f32):
    %28 = arith.mulf %24, %25 : f32
    %29 = arith.addf %27, %28 : f32
    loop.yield %29 : f32
  } finish {
  ^bb0(%30: f32, %31: f32, %32: f32, %33: f32):
    %34 = arith.mulf %33, %32 : f32
    loop.yield %34 : f32
  }
  func.return
}

// -----

// Each block would begin with the one.
// CHECK-LABEL: func.func @from_one
// CHECK-NOT:  loop.for %n
func.func @from_one(%q: memref<7x5xf32>, %k: memref<5x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x9xf32>
  loop.nest (m = 7, n = 9, k = 5 reduction) ins(%q[m, k] : memref<7x5xf32>, %k[k, n] : memref<5x9xf32>) outs(%0[m, n] init 0.0 : memref<7x9xf32>) {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %3, %4 : f32
    loop.yield %5 : f32
  }
  %6 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%0[i0, r1] : memref<7x9xf32>) outs(%6[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.maximumf %8, %7 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%0[i0, i1] : memref<7x9xf32>, %6[i0, 0] : memref<7x1xf32>) outs(%10[i0, i1] : memref<7x9xf32>) {
  ^bb0(%11: f32, %12: f32, %13: f32):
    %14 = arith.subf %11, %12 : f32
    %15 = math.exp %14 : f32
    loop.yield %15 : f32
  }
  %16 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%10[i0, r1] : memref<7x9xf32>) outs(%16[i0, 0] init 1.0 : memref<7x1xf32>) {
  ^bb0(%17: f32, %18: f32):
    %19 = arith.addf %18, %17 : f32
    loop.yield %19 : f32
  } finish {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 1.000000e+00 : f32
    %23 = arith.divf %22, %21 : f32
    loop.yield %23 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%10[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>, %16[m, 0] : memref<7x1xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%24: f32, %25: f32, %26: f32, %27: f32):
    %28 = arith.mulf %24, %25 : f32
    %29 = arith.addf %27, %28 : f32
    loop.yield %29 : f32
  } finish {
  ^bb0(%30: f32, %31: f32, %32: f32, %33: f32):
    %34 = arith.mulf %33, %32 : f32
    loop.yield %34 : f32
  }
  func.return
}

// -----

// Each block would begin with the one of the product.
// CHECK-LABEL: func.func @product_from_one
// CHECK-NOT:  loop.for %n
func.func @product_from_one(%q: memref<7x5xf32>, %k: memref<5x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x9xf32>
  loop.nest (m = 7, n = 9, k = 5 reduction) ins(%q[m, k] : memref<7x5xf32>, %k[k, n] : memref<5x9xf32>) outs(%0[m, n] init 0.0 : memref<7x9xf32>) {
  ^bb0(%1: f32, %2: f32, %3: f32):
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %3, %4 : f32
    loop.yield %5 : f32
  }
  %6 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%0[i0, r1] : memref<7x9xf32>) outs(%6[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%7: f32, %8: f32):
    %9 = arith.maximumf %8, %7 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%0[i0, i1] : memref<7x9xf32>, %6[i0, 0] : memref<7x1xf32>) outs(%10[i0, i1] : memref<7x9xf32>) {
  ^bb0(%11: f32, %12: f32, %13: f32):
    %14 = arith.subf %11, %12 : f32
    %15 = math.exp %14 : f32
    loop.yield %15 : f32
  }
  %16 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%10[i0, r1] : memref<7x9xf32>) outs(%16[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%17: f32, %18: f32):
    %19 = arith.addf %18, %17 : f32
    loop.yield %19 : f32
  } finish {
  ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 1.000000e+00 : f32
    %23 = arith.divf %22, %21 : f32
    loop.yield %23 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%10[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>, %16[m, 0] : memref<7x1xf32>) outs(%out[m, n] init 1.0 : memref<7x3xf32>) {
  ^bb0(%24: f32, %25: f32, %26: f32, %27: f32):
    %28 = arith.mulf %24, %25 : f32
    %29 = arith.addf %27, %28 : f32
    loop.yield %29 : f32
  } finish {
  ^bb0(%30: f32, %31: f32, %32: f32, %33: f32):
    %34 = arith.mulf %33, %32 : f32
    loop.yield %34 : f32
  }
  func.return
}
