// RUN: inarch-opt %s --split-input-file -p schedule-nests | filecheck %s

// Pooling runs along the row: its contiguous output iterator goes inside the window.
// CHECK-LABEL: @pooling_runs_along_the_row
func.func @pooling_runs_along_the_row(%x: memref<2x9x9xf32>, %y: memref<2x7x7xf32>) {
  loop.nest (c = 2, oh = 7, ow = 7, kh = 3 reduction, kw = 3 reduction) ins(%x[c, oh + kh, ow + kw] : memref<2x9x9xf32>) outs(%y[c, oh, ow] init -inf : memref<2x7x7xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.maximumf %a, %acc : f32
    loop.yield %m : f32
  }
  func.return
}
// CHECK: loop.nest (c = 2, oh = 7, kh = 3 reduction, kw = 3 reduction, ow = 7)

// -----

// A sum over the last axis has nothing contiguous to run along.
// CHECK-LABEL: @keeps_a_sum_over_the_last_axis
func.func @keeps_a_sum_over_the_last_axis(%x: memref<7x9xf32>, %y: memref<7xf32>) {
  loop.nest (i = 7, r = 9 reduction) ins(%x[i, r] : memref<7x9xf32>) outs(%y[i] init 0.0 : memref<7xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (i = 7, r = 9 reduction)

// -----

// With 70 and 17 inside already, seven rows would be 8330 accumulators: more than there is room for.
// CHECK-LABEL: @keeps_what_would_be_too_many
func.func @keeps_what_would_be_too_many(%x: memref<7x2x70x17xf32>, %y: memref<70x17x7xf32>) {
  loop.nest (i = 7, r = 2 reduction, j = 70, l = 17) ins(%x[i, r, j, l] : memref<7x2x70x17xf32>, %y[j, l, i] : memref<70x17x7xf32>) outs(%y[j, l, i] init 0.0 : memref<70x17x7xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (i = 7, r = 2 reduction, j = 70, l = 17)
