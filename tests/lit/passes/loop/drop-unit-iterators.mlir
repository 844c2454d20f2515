// RUN: inarch-opt %s --split-input-file -p drop-unit-iterators | filecheck %s

// CHECK-LABEL: @batch_of_one
func.func @batch_of_one(%x: memref<1x8xf32>, %y: memref<1x8xf32>) {
  loop.nest (n = 1, c = 8) ins(%x[n, c] : memref<1x8xf32>) outs(%y[n, c] : memref<1x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (c = 8) ins(%x[0, c] : memref<1x8xf32>) outs(%y[0, c] : memref<1x8xf32>) {

// -----

// CHECK-LABEL: @one_unit_reduction_stays
func.func @one_unit_reduction_stays(%x: memref<8x1x1xf32>, %y: memref<8xf32>) {
  loop.nest (c = 8, h = 1 reduction, w = 1 reduction) ins(%x[c, h, w] : memref<8x1x1xf32>) outs(%y[c] init 0.0 : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (c = 8, h = 1 reduction) ins(%x[c, h, 0] : memref<8x1x1xf32>)

// -----

// CHECK-LABEL: @a_scalar_has_no_loop
func.func @a_scalar_has_no_loop(%x: memref<1xf32>, %y: memref<1xf32>) {
  loop.nest (i = 1) ins(%x[i] : memref<1xf32>) outs(%y[i] : memref<1xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest () ins(%x[0] : memref<1xf32>) outs(%y[0] : memref<1xf32>) {

// -----

// CHECK-LABEL: @an_empty_loop_stays
func.func @an_empty_loop_stays(%x: memref<0xf32>, %y: memref<0xf32>) {
  loop.nest (i = 0) ins(%x[i] : memref<0xf32>) outs(%y[i] : memref<0xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 0)

// -----

// A scan of one point stays one, so that nobody takes the nest for an elementwise one.
// CHECK-LABEL: @a_scan_stays
func.func @a_scan_stays(%x: memref<1x8x1xf32>, %y: memref<1x8x1xf32>) {
  loop.nest (i = 1, j = 8, k = 1 scan) ins(%x[i, j, k] : memref<1x8x1xf32>) outs(%y[i, j, k] init 0.0 : memref<1x8x1xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (j = 8, k = 1 scan) ins(%x[0, j, k] : memref<1x8x1xf32>) outs(%y[0, j, k] init 0.0 : memref<1x8x1xf32>)
