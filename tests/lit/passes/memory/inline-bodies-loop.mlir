// RUN: inarch-opt %s -p inline-bodies | filecheck %s

// As outline-bodies and graph-to-loop leave a scan: its constant goes before the loop, its scratch stays an iteration's.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: loop.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: loop.for
// CHECK-NOT: loop.call
// CHECK: loop.alloc
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: func.func private
func.func @main(%a: memref<2xf32>, %x: memref<3x2xf32>, %out: memref<2xf32> {inarch.result}, %out_1: memref<3x2xf32> {inarch.result}) {
  loop.nest (i0 = 2) ins(%a[i0] : memref<2xf32>) outs(%out[i0] : memref<2xf32>) {
  ^bb0(%0: f32, %1: f32):
    loop.yield %0 : f32
  }
  %2 = loop.alloc : memref<2xf32>
  loop.for %3 = 0 to 3 {
    %4 = arith.constant 2 : index
    %5 = arith.subi %4, %3 : index
    %6 = memref.subview %x[%5, 0] [1, 2] [1, 1] : memref<3x2xf32> to memref<2xf32, strided<[1], offset: ?>>
    %7 = memref.subview %out_1[%3, 0] [1, 2] [1, 1] : memref<3x2xf32> to memref<2xf32, strided<[1], offset: ?>>
    %8 = memref.subview %out[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
    %9 = memref.subview %2[0] [2] [1] : memref<2xf32> to memref<2xf32, strided<[1], offset: ?>>
    loop.call @main_body(%8, %6, %9, %7) : memref<2xf32, strided<[1], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>, memref<2xf32, strided<[1], offset: ?>>
    loop.nest (i0 = 2) ins(%2[i0] : memref<2xf32>) outs(%out[i0] : memref<2xf32>) {
    ^bb0(%10: f32, %11: f32):
      loop.yield %10 : f32
    }
    loop.yield
  }
  func.return
}
func.func private @main_body(%0: memref<2xf32, strided<[1], offset: ?>>, %1: memref<2xf32, strided<[1], offset: ?>>, %out: memref<2xf32, strided<[1], offset: ?>> {inarch.result}, %out_1: memref<2xf32, strided<[1], offset: ?>> {inarch.result}) attributes {inarch.body} {
  %2 = loop.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : memref<2xf32>
  %3 = loop.alloc : memref<2xf32>
  loop.nest (i0 = 2) ins(%0[i0] : memref<2xf32, strided<[1], offset: ?>>, %2[i0] : memref<2xf32>) outs(%3[i0] : memref<2xf32>) {
  ^bb0(%4: f32, %5: f32, %6: f32):
    %7 = arith.mulf %4, %5 : f32
    loop.yield %7 : f32
  }
  loop.nest (i0 = 2) ins(%3[i0] : memref<2xf32>, %1[i0] : memref<2xf32, strided<[1], offset: ?>>) outs(%out[i0] : memref<2xf32, strided<[1], offset: ?>>) {
  ^bb0(%8: f32, %9: f32, %10: f32):
    %11 = arith.addf %8, %9 : f32
    loop.yield %11 : f32
  }
  loop.nest (i0 = 2) ins(%0[i0] : memref<2xf32, strided<[1], offset: ?>>) outs(%out_1[i0] : memref<2xf32, strided<[1], offset: ?>>) {
  ^bb0(%12: f32, %13: f32):
    loop.yield %12 : f32
  }
  func.return
}
