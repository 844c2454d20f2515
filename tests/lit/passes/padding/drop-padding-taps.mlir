// RUN: inarch-opt %s --split-input-file -p drop-padding-taps{least=0} | filecheck %s
// RUN: inarch-opt %s --split-input-file -p 'drop-padding-taps{least=0}' --verify-diagnostics --remarks -o %t

// CHECK-LABEL: @each_tap_where_its_image_is
func.func @each_tap_where_its_image_is(%x: memref<7x4xf32>, %b: memref<3xf32>, %y: memref<7x3xf32>) {
  %w = loop.constant dense<1.5> : tensor<3x4x3xf32> : memref<3x4x3xf32>
  %p = loop.alloc : memref<9x4xf32>
  loop.nest (i = 1, c = 4) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 1, c = 4) outs(%p[i + 8, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 7, c = 4) ins(%x[i, c] : memref<7x4xf32>) outs(%p[i + 1, c] : memref<9x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  // expected-remark @below {{[drop-padding-taps] on average 1.1 terms of an output left out, parts: 3}}
  loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[q + k, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>, %b[o] : memref<3xf32>) outs(%y[q, o] init 0.0 : memref<7x3xf32>) {
  ^bb0(%a: f32, %v: f32, %s: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  } finish {
  ^bb0(%a: f32, %v: f32, %s: f32, %acc: f32):
    %n = arith.addf %acc, %s : f32
    loop.yield %n : f32
  }
  func.return
}
// CHECK:      loop.nest (i = 7, c = 4) ins(%x[i, c]
// CHECK:      loop.nest (q = 7, o = 3) outs(%y[q, o] : memref<7x3xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: f32):
// CHECK-NEXT:   %[[BEGIN:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   loop.yield %[[BEGIN]]
// CHECK:      loop.nest (q = 6, o = 3, c = 4 reduction, k = 1 reduction) ins(%p[q + k + 1, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q + 1, o] : memref<7x3xf32>) {
// CHECK-NOT:  finish
// CHECK:      loop.nest (q = 6, o = 3, c = 4 reduction, k = 1 reduction) ins(%p[q + k + 2, c] : memref<9x4xf32>, %w[o, c, k + 2] : memref<3x4x3xf32>) outs(%y[q, o] : memref<7x3xf32>) {
// CHECK-NOT:  finish
// CHECK:      loop.nest (q = 7, o = 3, c = 4 reduction, k = 1 reduction) ins(%p[q + k + 1, c] : memref<9x4xf32>, %w[o, c, k + 1] : memref<3x4x3xf32>, %b[o] : memref<3xf32>) outs(%y[q, o] : memref<7x3xf32>) {
// CHECK:      } finish {
// CHECK-NOT:  loop.nest

// -----

// Stride 4: the last window is inside; the first one misses a tap.
// CHECK-LABEL: @taps_that_meet_padding_at_the_same_points_stay_together
func.func @taps_that_meet_padding_at_the_same_points_stay_together(%x: memref<8x4xf32>, %y: memref<2x3xf32>) {
  %w = loop.constant dense<1.5> : tensor<3x4x3xf32> : memref<3x4x3xf32>
  %p = loop.alloc : memref<9x4xf32>
  loop.nest (i = 1, c = 4) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 8, c = 4) ins(%x[i, c] : memref<8x4xf32>) outs(%p[i + 1, c] : memref<9x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  // expected-remark @below {{[drop-padding-taps] on average 2.0 terms of an output left out, parts: 2}}
  loop.nest (q = 2, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[q * 4 + k, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q, o] init 0.0 : memref<2x3xf32>) {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  }
  func.return
}
// CHECK:      loop.nest (q = 2, o = 3) outs(%y[q, o] : memref<2x3xf32>) {
// CHECK:      loop.nest (q = 1, o = 3, c = 4 reduction, k = 1 reduction) ins(%p[q * 4 + k + 4, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q + 1, o] : memref<2x3xf32>) {
// CHECK:      loop.nest (q = 2, o = 3, c = 4 reduction, k = 2 reduction) ins(%p[q * 4 + k + 1, c] : memref<9x4xf32>, %w[o, c, k + 1] : memref<3x4x3xf32>) outs(%y[q, o] : memref<2x3xf32>) {

// -----

// Nothing is split: the sum begins as it did.
// CHECK-LABEL: @taps_that_meet_nothing_else_are_dropped
func.func @taps_that_meet_nothing_else_are_dropped(%x: memref<1x4xf32>, %y: memref<1x3xf32>) {
  %w = loop.constant dense<1.5> : tensor<3x4x3xf32> : memref<3x4x3xf32>
  %p = loop.alloc : memref<9x4xf32>
  loop.nest (i = 1, c = 4) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 7, c = 4) outs(%p[i + 2, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 1, c = 4) ins(%x[i, c] : memref<1x4xf32>) outs(%p[i + 1, c] : memref<9x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  // expected-remark @below {{[drop-padding-taps] on average 8.0 terms of an output left out, parts: 1}}
  loop.nest (q = 1, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[q + k, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q, o] init 0.0 : memref<1x3xf32>) {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  }
  func.return
}
// CHECK:      loop.nest (q = 1, o = 3, c = 4 reduction, k = 1 reduction) ins(%p[q + k + 1, c] : memref<9x4xf32>, %w[o, c, k + 1] : memref<3x4x3xf32>) outs(%y[q, o] init 0.0 : memref<1x3xf32>) {
// CHECK-NOT: loop.nest (q =

// -----

// They may be infinite, and 0 times that is no 0.
// CHECK-LABEL: @keeps_weights_that_are_not_known
func.func @keeps_weights_that_are_not_known(%x: memref<7x4xf32>, %w: memref<3x4x3xf32>, %y: memref<7x3xf32>) {
  %p = loop.alloc : memref<9x4xf32>
  loop.nest (i = 1, c = 4) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 1, c = 4) outs(%p[i + 8, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 7, c = 4) ins(%x[i, c] : memref<7x4xf32>) outs(%p[i + 1, c] : memref<9x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  // expected-remark @below {{[drop-padding-taps] missed: on average 1.1 terms of an output are on padding, by weights that may not be finite}}
  loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[q + k, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q, o] init 0.0 : memref<7x3xf32>) {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  }
  func.return
}
// CHECK: loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction)
// CHECK-NOT: loop.nest (q =

// -----

// Neither 0.5 nor -0.0.
// CHECK-LABEL: @keeps_padding_that_is_not_0
func.func @keeps_padding_that_is_not_0(%x: memref<7x4xf32>, %y: memref<7x3xf32>) {
  %w = loop.constant dense<1.5> : tensor<3x4x3xf32> : memref<3x4x3xf32>
  %p = loop.alloc : memref<9x4xf32>
  loop.nest (i = 1, c = 4) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.5 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 1, c = 4) outs(%p[i + 8, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant -0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 7, c = 4) ins(%x[i, c] : memref<7x4xf32>) outs(%p[i + 1, c] : memref<9x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[q + k, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q, o] init 0.0 : memref<7x3xf32>) {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  }
  func.return
}
// CHECK: loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction)
// CHECK-NOT: loop.nest (q =

// -----

// Nobody knows what x holds.
// CHECK-LABEL: @keeps_a_border_that_is_written_again
func.func @keeps_a_border_that_is_written_again(%x: memref<9x4xf32>, %y: memref<7x3xf32>) {
  %w = loop.constant dense<1.5> : tensor<3x4x3xf32> : memref<3x4x3xf32>
  %p = loop.alloc : memref<9x4xf32>
  loop.nest (i = 1, c = 4) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 1, c = 4) outs(%p[i + 8, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 9, c = 4) ins(%x[i, c] : memref<9x4xf32>) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[q + k, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q, o] init 0.0 : memref<7x3xf32>) {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  }
  func.return
}
// CHECK: loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction)
// CHECK-NOT: loop.nest (q =

// -----

// One element is not filled.
// CHECK-LABEL: @keeps_a_border_with_a_hole
func.func @keeps_a_border_with_a_hole(%x: memref<7x4xf32>, %y: memref<7x3xf32>) {
  %w = loop.constant dense<1.5> : tensor<3x4x3xf32> : memref<3x4x3xf32>
  %p = loop.alloc : memref<9x4xf32>
  loop.nest (i = 1, c = 3) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 1, c = 3) outs(%p[i + 8, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 7, c = 4) ins(%x[i, c] : memref<7x4xf32>) outs(%p[i + 1, c] : memref<9x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[q + k, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q, o] init 0.0 : memref<7x3xf32>) {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  }
  func.return
}
// CHECK: loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction)
// CHECK-NOT: loop.nest (q =

// -----

// Adding +0 makes it 0.
// CHECK-LABEL: @keeps_a_sum_that_begins_at_minus_0
func.func @keeps_a_sum_that_begins_at_minus_0(%x: memref<7x4xf32>, %y: memref<7x3xf32>) {
  %w = loop.constant dense<1.5> : tensor<3x4x3xf32> : memref<3x4x3xf32>
  %p = loop.alloc : memref<9x4xf32>
  loop.nest (i = 1, c = 4) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 1, c = 4) outs(%p[i + 8, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 7, c = 4) ins(%x[i, c] : memref<7x4xf32>) outs(%p[i + 1, c] : memref<9x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  // expected-remark @below {{[drop-padding-taps] missed: its windows meet padding, but the sum begins at -0.0, which a term of +0 changes}}
  loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[q + k, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q, o] init -0.0 : memref<7x3xf32>) {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  }
  func.return
}
// CHECK: loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction)
// CHECK-NOT: loop.nest (q =

// -----

// A kernel writes it by way of a copy.
// CHECK-LABEL: @keeps_an_output_in_another_order
func.func @keeps_an_output_in_another_order(%x: memref<7x4xf32>, %y: memref<3x7xf32>) {
  %w = loop.constant dense<1.5> : tensor<3x4x3xf32> : memref<3x4x3xf32>
  %p = loop.alloc : memref<9x4xf32>
  loop.nest (i = 1, c = 4) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 1, c = 4) outs(%p[i + 8, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 7, c = 4) ins(%x[i, c] : memref<7x4xf32>) outs(%p[i + 1, c] : memref<9x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  // expected-remark @below {{[drop-padding-taps] missed: its windows meet padding, but its output is not in order: a kernel writes it by way of a copy, each part once more}}
  loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[q + k, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[o, q] init 0.0 : memref<3x7xf32>) {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  }
  func.return
}
// CHECK: loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction)
// CHECK-NOT: loop.nest (q =

// -----

// The end is not known to be 0, so only the first tap is split off.
// CHECK-LABEL: @a_nest_that_writes_a_buffer_twice
func.func @a_nest_that_writes_a_buffer_twice(%x: memref<8x4xf32>, %y: memref<7x3xf32>) {
  %w = loop.constant dense<1.5> : tensor<3x4x3xf32> : memref<3x4x3xf32>
  %p = loop.alloc : memref<9x4xf32>
  loop.nest (i = 1, c = 4) outs(%p[i, c] : memref<9x4xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 4, c = 4) ins(%x[i, c] : memref<8x4xf32>, %x[i + 4, c] : memref<8x4xf32>) outs(%p[i + 1, c] : memref<9x4xf32>, %p[i + 5, c] : memref<9x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32, %u: f32):
    loop.yield %a, %b : f32, f32
  }
  // expected-remark @below {{[drop-padding-taps] on average 0.6 terms of an output left out, parts: 2}}
  loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[q + k, c] : memref<9x4xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q, o] init 0.0 : memref<7x3xf32>) {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  }
  func.return
}
// CHECK:      loop.nest (q = 6, o = 3, c = 4 reduction, k = 1 reduction) ins(%p[q + k + 1, c]
// CHECK:      loop.nest (q = 7, o = 3, c = 4 reduction, k = 2 reduction) ins(%p[q + k + 1, c]

// -----

// Vectors run over it.
// CHECK-LABEL: @keeps_a_row_of_pixels
func.func @keeps_a_row_of_pixels(%x: memref<4x7xf32>, %y: memref<7x3xf32>) {
  %w = loop.constant dense<1.5> : tensor<3x4x3xf32> : memref<3x4x3xf32>
  %p = loop.alloc : memref<4x9xf32>
  loop.nest (i = 1, c = 4) outs(%p[c, i] : memref<4x9xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 1, c = 4) outs(%p[c, i + 8] : memref<4x9xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 7, c = 4) ins(%x[c, i] : memref<4x7xf32>) outs(%p[c, i + 1] : memref<4x9xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  // expected-remark @below {{[drop-padding-taps] missed: its windows meet padding, but vectors run over its rows, and shorter rows fill them worse}}
  loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction) ins(%p[c, q + k] : memref<4x9xf32>, %w[o, c, k] : memref<3x4x3xf32>) outs(%y[q, o] init 0.0 : memref<7x3xf32>) {
  ^bb0(%a: f32, %v: f32, %acc: f32):
    %m = arith.mulf %a, %v : f32
    %n = arith.addf %acc, %m : f32
    loop.yield %n : f32
  }
  func.return
}
// CHECK: loop.nest (q = 7, o = 3, c = 4 reduction, k = 3 reduction)
// CHECK-NOT: loop.nest (q =
