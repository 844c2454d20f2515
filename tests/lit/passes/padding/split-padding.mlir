// RUN: inarch-opt %s --split-input-file -p split-padding | filecheck %s

// CHECK-LABEL: @borders_are_constants_and_the_inside_is_a_copy
func.func @borders_are_constants_and_the_inside_is_a_copy(%x: memref<2x8xf32>, %y: memref<2x10xf32>) {
  loop.nest (c = 2, i = 10) ins(%x[c, i - 1] pad 0.5 : memref<2x8xf32>) outs(%y[c, i] : memref<2x10xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (c = 2, i = 1) outs(%y[c, i] : memref<2x10xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: f32):
// CHECK-NEXT:   %[[PAD:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:   loop.yield %[[PAD]]
// CHECK-NEXT: }
// CHECK-NEXT: loop.nest (c = 2, i = 1) outs(%y[c, i + 9] : memref<2x10xf32>) {
// CHECK:      loop.nest (c = 2, i = 8) ins(%x[c, i] : memref<2x8xf32>) outs(%y[c, i + 1] : memref<2x10xf32>) {

// -----

// Every other element: the read is inside from i = 1 (index 1) to i = 4 (index 7).
// CHECK-LABEL: @strides_count
func.func @strides_count(%x: memref<8xf32>, %y: memref<6xf32>) {
  loop.nest (i = 6) ins(%x[i * 2 - 1] pad 0.0 : memref<8xf32>) outs(%y[i] : memref<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 1) outs(%y[i] : memref<6xf32>)
// CHECK:      loop.nest (i = 1) outs(%y[i + 5] : memref<6xf32>)
// CHECK:      loop.nest (i = 4) ins(%x[i * 2 + 1] : memref<8xf32>) outs(%y[i + 1] : memref<6xf32>)

// -----

// CHECK-LABEL: @keeps_a_read_at_two_iterators
func.func @keeps_a_read_at_two_iterators(%x: memref<8xf32>, %y: memref<4x3xf32>) {
  loop.nest (i = 4, k = 3) ins(%x[i * 2 + k - 1] pad 0.0 : memref<8xf32>) outs(%y[i, k] : memref<4x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
// CHECK: pad 0.0

// -----

// A scan goes on over the points at which it reads a pad.
// CHECK-LABEL: @a_scan_stays_whole
func.func @a_scan_stays_whole(%x: memref<8xf32>, %y: memref<10xf32>) {
  loop.nest (k = 10 scan) ins(%x[k - 1] pad 0.5 : memref<8xf32>) outs(%y[k] init 0.0 : memref<10xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (k = 10 scan) ins(%x[k - 1] pad 0.5 : memref<8xf32>) outs(%y[k] init 0.0 : memref<10xf32>) {
