// RUN: inarch-opt %s --split-input-file --load %S/Inputs/rows_gemm.c -p "tensorize{kernels=rows-gemm}" | filecheck %s

// Windows of four channels, one after the other: s and i are k together, and a row of 12 begins 4 after the one
// before. A kernel that demands rows of their own gets a copy of them.
func.func @windows(%x: memref<8x4xf32>, %w: memref<3x4x10xf32>, %y: memref<6x10xf32>) {
  loop.nest (p = 6, n = 10, s = 3 reduction, i = 4 reduction) ins(%x[p + s, i] : memref<8x4xf32>, %w[s, i, n] : memref<3x4x10xf32>) outs(%y[p, n] : memref<6x10xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @windows
// CHECK-NEXT:  %[[A:.*]] = loop.alloc : memref<6x12xf32>
// CHECK-NEXT:  %[[FLAT:.*]] = loop.reshape %x : memref<8x4xf32> to memref<32xf32>
// CHECK-NEXT:  kernel.pack %[[FLAT]][d0 * 4 + d1] to %[[A]][d0, d1]
// CHECK-NEXT:  kernel.call @rows_gemm(%[[A]][0] strides [12, 1], %w[0] strides [10, 1], %y[0] strides [10, 1]) sizes [6, 10, 12]

// -----

// Longer strides than a row are as good.
func.func @parts(%a: memref<6x9xf32>, %b: memref<5x13xf32>, %c: memref<6x10xf32>) {
  loop.nest (m = 6, n = 10, k = 5 reduction) ins(%a[m, k + 2] : memref<6x9xf32>, %b[k, n] : memref<5x13xf32>) outs(%c[m, n] : memref<6x10xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @parts
// CHECK-NEXT:  kernel.call @rows_gemm(%a[2] strides [9, 1], %b[0] strides [13, 1], %c[0] strides [10, 1]) sizes [6, 10, 5]

// -----

// No stride is negative: rows that are read backwards are packed.
func.func @backwards(%a: memref<6x5xf32>, %b: memref<5x10xf32>, %c: memref<6x10xf32>) {
  loop.nest (m = 6, n = 10, k = 5 reduction) ins(%a[5 - m, k] : memref<6x5xf32>, %b[k, n] : memref<5x10xf32>) outs(%c[m, n] : memref<6x10xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @backwards
// CHECK-NEXT:  %[[A:.*]] = loop.alloc : memref<6x5xf32>
// CHECK-NEXT:  kernel.pack %a[-d0 + 5, d1] to %[[A]][d0, d1]
// CHECK-NEXT:  kernel.call @rows_gemm(%[[A]][0] strides [5, 1], %b[0] strides [10, 1], %c[0] strides [10, 1]) sizes [6, 10, 5]
