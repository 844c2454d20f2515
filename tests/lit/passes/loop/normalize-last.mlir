// RUN: inarch-opt %s -p normalize-last --split-input-file | filecheck %s

// The product reads weights that are not normalized, and multiplies its result.
// CHECK-LABEL: func.func @main
// CHECK:      %[[W:.*]] = loop.alloc : memref<7x9xf32>
// CHECK:      %[[R:.*]] = loop.alloc : memref<7x1xf32>
// CHECK-NOT:  loop.alloc
// CHECK:      loop.nest (m = 7, n = 3, k = 9 reduction) ins(%[[W]][m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>, %[[R]][m, 0] : memref<7x1xf32>) outs(%out[m, n] init 0.0
// CHECK:      finish
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %[[F:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[ACC]], %[[F]]
// CHECK-NEXT: loop.yield %[[Y]]
func.func @main(%s: memref<7x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%s[i0, r1] : memref<7x9xf32>) outs(%0[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = arith.maximumf %2, %1 : f32
    loop.yield %3 : f32
  }
  %4 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%s[i0, i1] : memref<7x9xf32>, %0[i0, 0] : memref<7x1xf32>) outs(%4[i0, i1] : memref<7x9xf32>) {
  ^bb0(%5: f32, %6: f32, %7: f32):
    %8 = arith.subf %5, %6 : f32
    %9 = math.exp %8 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%4[i0, r1] : memref<7x9xf32>) outs(%10[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%11: f32, %12: f32):
    %13 = arith.addf %12, %11 : f32
    loop.yield %13 : f32
  } finish {
  ^bb0(%14: f32, %15: f32):
    %16 = arith.constant 1.000000e+00 : f32
    %17 = arith.divf %16, %15 : f32
    loop.yield %17 : f32
  }
  %18 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%4[i0, i1] : memref<7x9xf32>, %10[i0, 0] : memref<7x1xf32>) outs(%18[i0, i1] : memref<7x9xf32>) {
  ^bb0(%19: f32, %20: f32, %21: f32):
    %22 = arith.mulf %19, %20 : f32
    loop.yield %22 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%18[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%23: f32, %24: f32, %25: f32):
    %26 = arith.mulf %23, %24 : f32
    %27 = arith.addf %25, %26 : f32
    loop.yield %27 : f32
  }
  func.return
}

// -----

// What divides the weights divides the result; what else a product does at its end, it does with that.
// CHECK-LABEL: func.func @divided
// CHECK:      loop.nest (m = 7, n = 3, k = 9 reduction)
// CHECK:      finish
// CHECK:      %[[Y:.*]] = arith.divf
// CHECK-NEXT: %[[Z:.*]] = math.absf %[[Y]]
// CHECK-NEXT: loop.yield %[[Z]]
func.func @divided(%s: memref<7x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%s[i0, r1] : memref<7x9xf32>) outs(%0[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = arith.maximumf %2, %1 : f32
    loop.yield %3 : f32
  }
  %4 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%s[i0, i1] : memref<7x9xf32>, %0[i0, 0] : memref<7x1xf32>) outs(%4[i0, i1] : memref<7x9xf32>) {
  ^bb0(%5: f32, %6: f32, %7: f32):
    %8 = arith.subf %5, %6 : f32
    %9 = math.exp %8 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%4[i0, r1] : memref<7x9xf32>) outs(%10[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%11: f32, %12: f32):
    %13 = arith.addf %12, %11 : f32
    loop.yield %13 : f32
  } finish {
  ^bb0(%14: f32, %15: f32):
    %16 = arith.constant 1.000000e+00 : f32
    %17 = arith.divf %16, %15 : f32
    loop.yield %17 : f32
  }
  %18 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%4[i0, i1] : memref<7x9xf32>, %10[i0, 0] : memref<7x1xf32>) outs(%18[i0, i1] : memref<7x9xf32>) {
  ^bb0(%19: f32, %20: f32, %21: f32):
    %22 = arith.divf %19, %20 : f32
    loop.yield %22 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%18[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%23: f32, %24: f32, %25: f32):
    %26 = arith.mulf %23, %24 : f32
    %27 = arith.addf %25, %26 : f32
    loop.yield %27 : f32
  } finish {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = math.absf %c : f32
    loop.yield %d : f32
  }
  func.return
}

// -----

// The factor may stand on either side.
// CHECK-LABEL: func.func @swapped
// CHECK:      finish
// CHECK:      finish
// CHECK:      arith.mulf
func.func @swapped(%s: memref<7x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%s[i0, r1] : memref<7x9xf32>) outs(%0[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = arith.maximumf %2, %1 : f32
    loop.yield %3 : f32
  }
  %4 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%s[i0, i1] : memref<7x9xf32>, %0[i0, 0] : memref<7x1xf32>) outs(%4[i0, i1] : memref<7x9xf32>) {
  ^bb0(%5: f32, %6: f32, %7: f32):
    %8 = arith.subf %5, %6 : f32
    %9 = math.exp %8 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%4[i0, r1] : memref<7x9xf32>) outs(%10[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%11: f32, %12: f32):
    %13 = arith.addf %12, %11 : f32
    loop.yield %13 : f32
  } finish {
  ^bb0(%14: f32, %15: f32):
    %16 = arith.constant 1.000000e+00 : f32
    %17 = arith.divf %16, %15 : f32
    loop.yield %17 : f32
  }
  %18 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%4[i0, i1] : memref<7x9xf32>, %10[i0, 0] : memref<7x1xf32>) outs(%18[i0, i1] : memref<7x9xf32>) {
  ^bb0(%19: f32, %20: f32, %21: f32):
    %22 = arith.mulf %20, %19 : f32
    loop.yield %22 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%18[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%23: f32, %24: f32, %25: f32):
    %26 = arith.mulf %23, %24 : f32
    %27 = arith.addf %25, %26 : f32
    loop.yield %27 : f32
  }
  func.return
}

// -----

// What is divided by the weights is not normalized.
// CHECK-LABEL: func.func @by_weights
// CHECK:      finish
// CHECK:      arith.divf
// CHECK:      loop.nest (m = 7, n = 3, k = 9 reduction)
// CHECK-NOT:  finish
func.func @by_weights(%s: memref<7x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%s[i0, r1] : memref<7x9xf32>) outs(%0[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = arith.maximumf %2, %1 : f32
    loop.yield %3 : f32
  }
  %4 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%s[i0, i1] : memref<7x9xf32>, %0[i0, 0] : memref<7x1xf32>) outs(%4[i0, i1] : memref<7x9xf32>) {
  ^bb0(%5: f32, %6: f32, %7: f32):
    %8 = arith.subf %5, %6 : f32
    %9 = math.exp %8 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%4[i0, r1] : memref<7x9xf32>) outs(%10[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%11: f32, %12: f32):
    %13 = arith.addf %12, %11 : f32
    loop.yield %13 : f32
  } finish {
  ^bb0(%14: f32, %15: f32):
    %16 = arith.constant 1.000000e+00 : f32
    %17 = arith.divf %16, %15 : f32
    loop.yield %17 : f32
  }
  %18 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%4[i0, i1] : memref<7x9xf32>, %10[i0, 0] : memref<7x1xf32>) outs(%18[i0, i1] : memref<7x9xf32>) {
  ^bb0(%19: f32, %20: f32, %21: f32):
    %22 = arith.divf %20, %19 : f32
    loop.yield %22 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%18[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%23: f32, %24: f32, %25: f32):
    %26 = arith.mulf %23, %24 : f32
    %27 = arith.addf %25, %26 : f32
    loop.yield %27 : f32
  }
  func.return
}

// -----

// More results than weights: as many factors more.
// CHECK-LABEL: func.func @wide
// CHECK:      finish
// CHECK-NOT:  finish
func.func @wide(%s: memref<7x9xf32>, %v: memref<9x10xf32>, %out: memref<7x10xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%s[i0, r1] : memref<7x9xf32>) outs(%0[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = arith.maximumf %2, %1 : f32
    loop.yield %3 : f32
  }
  %4 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%s[i0, i1] : memref<7x9xf32>, %0[i0, 0] : memref<7x1xf32>) outs(%4[i0, i1] : memref<7x9xf32>) {
  ^bb0(%5: f32, %6: f32, %7: f32):
    %8 = arith.subf %5, %6 : f32
    %9 = math.exp %8 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%4[i0, r1] : memref<7x9xf32>) outs(%10[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%11: f32, %12: f32):
    %13 = arith.addf %12, %11 : f32
    loop.yield %13 : f32
  } finish {
  ^bb0(%14: f32, %15: f32):
    %16 = arith.constant 1.000000e+00 : f32
    %17 = arith.divf %16, %15 : f32
    loop.yield %17 : f32
  }
  %18 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%4[i0, i1] : memref<7x9xf32>, %10[i0, 0] : memref<7x1xf32>) outs(%18[i0, i1] : memref<7x9xf32>) {
  ^bb0(%19: f32, %20: f32, %21: f32):
    %22 = arith.mulf %19, %20 : f32
    loop.yield %22 : f32
  }
  loop.nest (m = 7, n = 10, k = 9 reduction) ins(%18[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x10xf32>) outs(%out[m, n] init 0.0 : memref<7x10xf32>) {
  ^bb0(%23: f32, %24: f32, %25: f32):
    %26 = arith.mulf %23, %24 : f32
    %27 = arith.addf %25, %26 : f32
    loop.yield %27 : f32
  }
  func.return
}

// -----

// Powers that no maximum bounds may be out of range before they are divided.
// CHECK-LABEL: func.func @unbounded
// CHECK:      finish
// CHECK-NOT:  finish
func.func @unbounded(%s: memref<7x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%s[i0, r1] : memref<7x9xf32>) outs(%0[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = arith.addf %2, %1 : f32
    loop.yield %3 : f32
  }
  %4 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%s[i0, i1] : memref<7x9xf32>, %0[i0, 0] : memref<7x1xf32>) outs(%4[i0, i1] : memref<7x9xf32>) {
  ^bb0(%5: f32, %6: f32, %7: f32):
    %8 = arith.subf %5, %6 : f32
    %9 = math.exp %8 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%4[i0, r1] : memref<7x9xf32>) outs(%10[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%11: f32, %12: f32):
    %13 = arith.addf %12, %11 : f32
    loop.yield %13 : f32
  } finish {
  ^bb0(%14: f32, %15: f32):
    %16 = arith.constant 1.000000e+00 : f32
    %17 = arith.divf %16, %15 : f32
    loop.yield %17 : f32
  }
  %18 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%4[i0, i1] : memref<7x9xf32>, %10[i0, 0] : memref<7x1xf32>) outs(%18[i0, i1] : memref<7x9xf32>) {
  ^bb0(%19: f32, %20: f32, %21: f32):
    %22 = arith.mulf %19, %20 : f32
    loop.yield %22 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%18[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%23: f32, %24: f32, %25: f32):
    %26 = arith.mulf %23, %24 : f32
    %27 = arith.addf %25, %26 : f32
    loop.yield %27 : f32
  }
  func.return
}

// -----

// So may what is divided otherwise.
// CHECK-LABEL: func.func @unbounded_quotient
// CHECK:      arith.divf
// CHECK:      arith.divf
// CHECK:      loop.nest (m = 7, n = 3, k = 9 reduction)
// CHECK-NOT:  finish
func.func @unbounded_quotient(%s: memref<7x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%s[i0, r1] : memref<7x9xf32>) outs(%0[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = arith.addf %2, %1 : f32
    loop.yield %3 : f32
  }
  %4 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%s[i0, i1] : memref<7x9xf32>, %0[i0, 0] : memref<7x1xf32>) outs(%4[i0, i1] : memref<7x9xf32>) {
  ^bb0(%5: f32, %6: f32, %7: f32):
    %8 = arith.subf %5, %6 : f32
    %9 = math.exp %8 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%4[i0, r1] : memref<7x9xf32>) outs(%10[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%11: f32, %12: f32):
    %13 = arith.addf %12, %11 : f32
    loop.yield %13 : f32
  } finish {
  ^bb0(%14: f32, %15: f32):
    %16 = arith.constant 1.000000e+00 : f32
    %17 = arith.divf %16, %15 : f32
    loop.yield %17 : f32
  }
  %18 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%4[i0, i1] : memref<7x9xf32>, %10[i0, 0] : memref<7x1xf32>) outs(%18[i0, i1] : memref<7x9xf32>) {
  ^bb0(%19: f32, %20: f32, %21: f32):
    %22 = arith.divf %19, %20 : f32
    loop.yield %22 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%18[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%23: f32, %24: f32, %25: f32):
    %26 = arith.mulf %23, %24 : f32
    %27 = arith.addf %25, %26 : f32
    loop.yield %27 : f32
  }
  func.return
}

// -----

// A factor of each key is one of the terms.
// CHECK-LABEL: func.func @keys
// CHECK:      finish
// CHECK-NOT:  finish
func.func @keys(%s: memref<7x9xf32>, %v: memref<9x3xf32>, %f: memref<9xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%s[i0, r1] : memref<7x9xf32>) outs(%0[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = arith.maximumf %2, %1 : f32
    loop.yield %3 : f32
  }
  %4 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%s[i0, i1] : memref<7x9xf32>, %0[i0, 0] : memref<7x1xf32>) outs(%4[i0, i1] : memref<7x9xf32>) {
  ^bb0(%5: f32, %6: f32, %7: f32):
    %8 = arith.subf %5, %6 : f32
    %9 = math.exp %8 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%4[i0, r1] : memref<7x9xf32>) outs(%10[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%11: f32, %12: f32):
    %13 = arith.addf %12, %11 : f32
    loop.yield %13 : f32
  } finish {
  ^bb0(%14: f32, %15: f32):
    %16 = arith.constant 1.000000e+00 : f32
    %17 = arith.divf %16, %15 : f32
    loop.yield %17 : f32
  }
  %18 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%4[i0, i1] : memref<7x9xf32>, %f[i1] : memref<9xf32>) outs(%18[i0, i1] : memref<7x9xf32>) {
  ^bb0(%19: f32, %20: f32, %21: f32):
    %22 = arith.mulf %19, %20 : f32
    loop.yield %22 : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%18[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%23: f32, %24: f32, %25: f32):
    %26 = arith.mulf %23, %24 : f32
    %27 = arith.addf %25, %26 : f32
    loop.yield %27 : f32
  }
  func.return
}

// -----

// The factor has been overwritten when the product runs.
// CHECK-LABEL: func.func @overwritten
// CHECK:      finish
// CHECK-NOT:  finish
func.func @overwritten(%s: memref<7x9xf32>, %v: memref<9x3xf32>, %out: memref<7x3xf32> {inarch.result}) {
  %0 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%s[i0, r1] : memref<7x9xf32>) outs(%0[i0, 0] init -inf : memref<7x1xf32>) {
  ^bb0(%1: f32, %2: f32):
    %3 = arith.maximumf %2, %1 : f32
    loop.yield %3 : f32
  }
  %4 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%s[i0, i1] : memref<7x9xf32>, %0[i0, 0] : memref<7x1xf32>) outs(%4[i0, i1] : memref<7x9xf32>) {
  ^bb0(%5: f32, %6: f32, %7: f32):
    %8 = arith.subf %5, %6 : f32
    %9 = math.exp %8 : f32
    loop.yield %9 : f32
  }
  %10 = loop.alloc : memref<7x1xf32>
  loop.nest (i0 = 7, r1 = 9 reduction) ins(%4[i0, r1] : memref<7x9xf32>) outs(%10[i0, 0] init 0.0 : memref<7x1xf32>) {
  ^bb0(%11: f32, %12: f32):
    %13 = arith.addf %12, %11 : f32
    loop.yield %13 : f32
  } finish {
  ^bb0(%14: f32, %15: f32):
    %16 = arith.constant 1.000000e+00 : f32
    %17 = arith.divf %16, %15 : f32
    loop.yield %17 : f32
  }
  %18 = loop.alloc : memref<7x9xf32>
  loop.nest (i0 = 7, i1 = 9) ins(%4[i0, i1] : memref<7x9xf32>, %10[i0, 0] : memref<7x1xf32>) outs(%18[i0, i1] : memref<7x9xf32>) {
  ^bb0(%19: f32, %20: f32, %21: f32):
    %22 = arith.mulf %19, %20 : f32
    loop.yield %22 : f32
  }
  loop.nest (i = 7) ins(%s[i, 0] : memref<7x9xf32>) outs(%10[i, 0] : memref<7x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  loop.nest (m = 7, n = 3, k = 9 reduction) ins(%18[m, k] : memref<7x9xf32>, %v[k, n] : memref<9x3xf32>) outs(%out[m, n] init 0.0 : memref<7x3xf32>) {
  ^bb0(%23: f32, %24: f32, %25: f32):
    %26 = arith.mulf %23, %24 : f32
    %27 = arith.addf %25, %26 : f32
    loop.yield %27 : f32
  }
  func.return
}
