// RUN: inarch-opt %s --split-input-file --load %S/Inputs/tile_gemm.py --load %S/Inputs/whole_gemm.py -p "tensorize{kernels=tile-gemm}" | filecheck %s
// RUN: inarch-opt %s --split-input-file --load %S/Inputs/tile_gemm.py --load %S/Inputs/whole_gemm.py -p "tensorize{kernels=tile-gemm,whole-gemm}" | filecheck %s --check-prefix=WHOLE
// RUN: inarch-opt %s --split-input-file --load %S/Inputs/tile_gemm.py --load %S/Inputs/whole_gemm.py -p 'tensorize{kernels=tile-gemm}' --verify-diagnostics --remarks -o %t

// Five rows are one tile of four and one of one; the second factor is packed into the layout demanded, and the
// last columns run on a copy with zeros, and into a temporary tile.
func.func @remainders(%a: memref<5x3xf32>, %b: memref<3x12xf32>, %c: memref<5x12xf32>) {
  // expected-remark-re @below {{[tensorize] nest (m = 5, n = 12, k = 3 reduction): tile-gemm (MR = 4, NR = 8): {{[0-9]+}} cycles in 4 calls; next best tile-gemm (MR = 3, NR = 8): {{[0-9]+}} cycles}}
  loop.nest (m = 5, n = 12, k = 3 reduction) ins(%a[m, k] : memref<5x3xf32>, %b[k, n] : memref<3x12xf32>) outs(%c[m, n] init 0.0 : memref<5x12xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %y, %x : f32
    %s = arith.addf %p, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK:       kernel.def @tile_gemm_MR1_NR8 computes "for m in 1, n in 8, k in K: C[m, n] += A[m, k] * B[k, n]"
// CHECK:       kernel.def @tile_gemm_MR4_NR8
// CHECK-LABEL: @remainders
// CHECK-NEXT:  loop.nest (m = 5, n = 12) outs(%c[m, n] : memref<5x12xf32>)
// CHECK:       %[[B:.*]] = loop.alloc : memref<3x8xf32>
// CHECK-NEXT:  kernel.pack %b[d0, d1] to %[[B]][d0, d1]
// CHECK-NEXT:  kernel.call @tile_gemm_MR4_NR8(%a[0] strides [3, 1], %[[B]][0] strides [8, 1], %c[0] strides [12, 1]) sizes [3]
// CHECK:       kernel.pack %b[d0, d1 + 8] to %[[REST:.*]][d0, d1]
// CHECK:       kernel.call @tile_gemm_MR4_NR8(%a[0] strides [3, 1], %[[REST]][0] strides [8, 1], %[[TILE:.*]][0] strides [8, 1]) sizes [3]
// CHECK-NEXT:  loop.nest (m_m = 4, n_n = 4) ins(%[[TILE]][m_m, n_n] : memref<4x8xf32>) outs(%c[m_m, n_n + 8] : memref<5x12xf32>)
// CHECK:       kernel.call @tile_gemm_MR1_NR8(%a[12] strides [3, 1],

// A kernel that states no cost takes what its meaning says: one call is cheaper than four.
// WHOLE-LABEL: @remainders
// WHOLE-NEXT:  kernel.call @whole_gemm_zero(%a[0] strides [3, 1], %b[0] strides [12, 1], %c[0] strides [12, 1]) sizes [5, 12, 3]
// WHOLE-NEXT:  func.return

// -----

// Batches are loops around the call; a transposed factor is other strides. Of the two ways to take the factors
// the one is written that has more operands in order.
func.func @batched(%a: memref<2x3x4xf32>, %b: memref<2x8x3xf32>, %c: memref<2x4x8xf32>) {
  // expected-remark-re @below {{[tensorize] nest (b = 2, m = 4, n = 8, k = 3 reduction): tile-gemm (MR = 4, NR = 8): {{[0-9]+}} cycles in 2 calls}}
  loop.nest (b = 2, m = 4, n = 8, k = 3 reduction) ins(%a[b, k, m] : memref<2x3x4xf32>, %b[b, n, k] : memref<2x8x3xf32>) outs(%c[b, m, n] init 0.0 : memref<2x4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// WHOLE-LABEL: @batched
// WHOLE-NEXT:  kernel.call @whole_gemm_zero for (b in 2) (%b[b * 24] strides [3, 1], %a[b * 12] strides [4, 1], %c[b * 32] strides [1, 8]) sizes [8, 4, 3]

// -----

// Nothing matches a sum: the nest stays as it is.
func.func @other(%a: memref<4x4xf32>, %c: memref<4xf32>) {
  // expected-remark @below {{[tensorize] missed: nest (m = 4, k = 4 reduction): no kernel; nearest is tile-gemm: the body differs: expected A[m, k] * B[k, n], found a}}
  loop.nest (m = 4, k = 4 reduction) ins(%a[m, k] : memref<4x4xf32>) outs(%c[m] init 0.0 : memref<4xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %x, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @other
// CHECK-NEXT:  loop.nest (m = 4, k = 4 reduction)
// CHECK-NOT:   kernel

// -----

// No kernel could be meant for a fill or a copy: nothing is said of them.
func.func @border(%x: memref<4xf32>, %y: memref<6xf32> {inarch.result}) {
  loop.nest (i = 6) outs(%y[i] init 0.0 : memref<6xf32>) {
  ^bb0(%o: f32):
    loop.yield %o : f32
  }
  %inside = memref.subview %y[1] [4] [1] : memref<6xf32> to memref<4xf32, strided<[1], offset: 1>>
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%inside[i] : memref<4xf32, strided<[1], offset: 1>>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
