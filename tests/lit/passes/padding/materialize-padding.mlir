// RUN: inarch-opt %s --split-input-file -p materialize-padding | filecheck %s
// RUN: inarch-opt %s --split-input-file -p 'materialize-padding{all=true}' | filecheck %s --check-prefix ALL

// Stride 2 over 8 columns touches indices -1 to 7: the padding at the end is not made.
func.func @copies_only_what_a_strided_nest_touches(%x: memref<3x8xf32>, %y: memref<3x4xf32> {inarch.result}) {
  loop.nest (c = 3, o = 4, k = 3 reduction) ins(%x[c, o * 2 + k - 1] pad 0.0 : memref<3x8xf32>) outs(%y[c, o] init 0.0 : memref<3x4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @copies_only_what_a_strided_nest_touches
// CHECK-NEXT:    %x_padded = loop.alloc : memref<3x9xf32>
// CHECK-NEXT:    loop.nest (i0 = 3, i1 = 9) ins(%x[i0, i1 - 1] pad 0.0 : memref<3x8xf32>) outs(%x_padded[i0, i1] : memref<3x9xf32>) {
// CHECK-NEXT:    ^bb0(%0: f32, %1: f32):
// CHECK-NEXT:      loop.yield %0 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.nest (c = 3, o = 4, k = 3 reduction) ins(%x_padded[c, o * 2 + k] : memref<3x9xf32>) outs(%y[c, o] init 0.0 : memref<3x4xf32>) {

// -----

func.func @two_users_of_one_padding_share_the_copy(%x: memref<8xf32>, %y: memref<8xf32> {inarch.result}, %z: memref<8xf32> {inarch.result}, %m: memref<8xf32> {inarch.result}) {
  loop.nest (o = 8, k = 3 reduction) ins(%x[o + k - 1] pad 0.0 : memref<8xf32>) outs(%y[o] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (o = 8, k = 3 reduction) ins(%x[o + k - 1] pad 0.0 : memref<8xf32>) outs(%z[o] init 1.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.mulf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (o = 8, k = 3 reduction) ins(%x[o + k - 1] pad -inf : memref<8xf32>) outs(%m[o] init -inf : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.maximumf %acc, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @two_users_of_one_padding_share_the_copy
// CHECK-NEXT:    %x_padded = loop.alloc : memref<10xf32>
// CHECK:         ins(%x_padded[o + k] : memref<10xf32>) outs(%y[o] init 0.0
// CHECK-NOT:     loop.alloc
// CHECK:         ins(%x_padded[o + k] : memref<10xf32>) outs(%z[o] init 1.0
// CHECK:         %x_padded_1 = loop.alloc : memref<10xf32>
// CHECK-NEXT:    loop.nest (i0 = 10) ins(%x[i0 - 1] pad -inf : memref<8xf32>)
// CHECK:         ins(%x_padded_1[o + k] : memref<10xf32>) outs(%m[o] init -inf

// -----

func.func @drops_a_pad_that_is_never_touched(%x: memref<8xf32>, %y: memref<6xf32> {inarch.result}) {
  loop.nest (o = 6, k = 3 reduction) ins(%x[o + k] pad 0.0 : memref<8xf32>) outs(%y[o] init 0.0 : memref<6xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @drops_a_pad_that_is_never_touched
// CHECK-NEXT:    loop.nest (o = 6, k = 3 reduction) ins(%x[o + k] : memref<8xf32>)

// -----

func.func @other_extents_are_another_copy(%x: memref<8xf32>, %y: memref<8xf32> {inarch.result}, %z: memref<8xf32> {inarch.result}) {
  loop.nest (o = 8, k = 3 reduction) ins(%x[o + k - 1] pad 0.0 : memref<8xf32>) outs(%y[o] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (o = 8, k = 3 reduction) ins(%x[o + k] pad 0.0 : memref<8xf32>) outs(%z[o] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @other_extents_are_another_copy
// CHECK:         loop.nest (i0 = 10) ins(%x[i0 - 1] pad 0.0 : memref<8xf32>) outs(%x_padded[i0] : memref<10xf32>)
// CHECK:         loop.nest (i0 = 10) ins(%x[i0] pad 0.0 : memref<8xf32>) outs(%x_padded_1[i0] : memref<10xf32>)
// CHECK:         ins(%x_padded_1[o + k] : memref<10xf32>) outs(%z[o]

// -----

// Without a reduction each element is read about once: a copy would cost more than the bounds check.
func.func @keeps_the_pad_of_a_nest_that_does_not_reduce(%x: memref<8xf32>, %y: memref<10xf32> {inarch.result}) {
  loop.nest (o = 10) ins(%x[o - 1] pad 0.0 : memref<8xf32>) outs(%y[o] : memref<10xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_the_pad_of_a_nest_that_does_not_reduce
// CHECK-NEXT:    loop.nest (o = 10) ins(%x[o - 1] pad 0.0 : memref<8xf32>)
// ALL-LABEL:   @keeps_the_pad_of_a_nest_that_does_not_reduce
// ALL-NEXT:      %x_padded = loop.alloc : memref<10xf32>
// ALL:           loop.nest (o = 10) ins(%x_padded[o] : memref<10xf32>)

// -----

func.func @keeps_the_pad_of_a_copy(%x: memref<8xf32>, %y: memref<10xf32> {inarch.result}) {
  loop.nest (o = 10) ins(%x[o - 1] pad 0.0 : memref<8xf32>) outs(%y[o] : memref<10xf32>) {
  ^bb0(%e: f32, %acc: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_the_pad_of_a_copy
// CHECK-NEXT:    loop.nest (o = 10) ins(%x[o - 1] pad 0.0 : memref<8xf32>)
// ALL-LABEL:   @keeps_the_pad_of_a_copy
// ALL-NEXT:      loop.nest (o = 10) ins(%x[o - 1] pad 0.0 : memref<8xf32>)

// -----

// 0.0 and -0.0 are different pads: each has its own copy.
// CHECK-LABEL: func.func @zeros
// CHECK:         loop.nest {{.*}} pad 0.0 : memref<8xf32>) outs(%x_padded[i0] : memref<10xf32>)
// CHECK:         loop.nest {{.*}} pad -0.0 : memref<8xf32>) outs(%{{.*}}[i0] : memref<10xf32>)
func.func @zeros(%x: memref<8xf32>, %y: memref<8xf32> {inarch.result}, %z: memref<8xf32> {inarch.result}) {
  loop.nest (o = 8, k = 3 reduction) ins(%x[o + k - 1] pad 0.0 : memref<8xf32>) outs(%y[o] init -0.0 : memref<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  loop.nest (o = 8, k = 3 reduction) ins(%x[o + k - 1] pad -0.0 : memref<8xf32>) outs(%z[o] init -0.0 : memref<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  func.return
}

// -----

// Two nests write the even and the odd elements of one buffer: they share a copy of all that they touch.
func.func @parts_of_one_buffer_share_the_copy(%x: memref<4xf32>, %y: memref<8xf32> {inarch.result}, %z: memref<4xf32> {inarch.result}) {
  loop.nest (o = 4, k = 2 reduction) ins(%x[o + k - 1] pad 0.0 : memref<4xf32>) outs(%y[o * 2] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (o = 4, k = 2 reduction) ins(%x[o + k] pad 0.0 : memref<4xf32>) outs(%y[o * 2 + 1] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (o = 4, k = 2 reduction) ins(%x[o + k] pad 0.0 : memref<4xf32>) outs(%z[o] init 0.0 : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @parts_of_one_buffer_share_the_copy
// CHECK-NEXT:    %[[BOTH:.*]] = loop.alloc : memref<6xf32>
// CHECK-NEXT:    loop.nest (i0 = 6) ins(%x[i0 - 1] pad 0.0 : memref<4xf32>) outs(%[[BOTH]][i0] : memref<6xf32>) {
// CHECK:         loop.nest (o = 4, k = 2 reduction) ins(%[[BOTH]][o + k] : memref<6xf32>) outs(%y[o * 2]
// CHECK-NOT:     loop.alloc
// CHECK:         loop.nest (o = 4, k = 2 reduction) ins(%[[BOTH]][o + k + 1] : memref<6xf32>) outs(%y[o * 2 + 1]
// CHECK:         %[[OWN:.*]] = loop.alloc : memref<5xf32>
// CHECK:         loop.nest (o = 4, k = 2 reduction) ins(%[[OWN]][o + k] : memref<5xf32>) outs(%z[o]

// -----

// In a loop each iteration makes the copy of what it reads.
func.func @in_a_loop(%x: memref<3x4xf32>, %y: memref<3x4xf32> {inarch.result}) {
  loop.for %n = 0 to 3 {
    %row = memref.subview %x[%n, 0] [1, 4] [1, 1] : memref<3x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>
    %out = memref.subview %y[%n, 0] [1, 4] [1, 1] : memref<3x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>
    loop.nest (o = 4, k = 3 reduction) ins(%row[0, o + k - 1] pad -inf : memref<1x4xf32, strided<[4, 1], offset: ?>>) outs(%out[0, o] init -inf : memref<1x4xf32, strided<[4, 1], offset: ?>>) {
    ^bb0(%e: f32, %acc: f32):
      %s = arith.maximumf %acc, %e : f32
      loop.yield %s : f32
    }
    loop.yield
  }
  func.return
}
// CHECK-LABEL: @in_a_loop
// CHECK:         loop.for
// CHECK:           %[[ROW:.*]] = loop.alloc : memref<1x6xf32>
// CHECK-NEXT:      loop.nest (i0 = 1, i1 = 6) ins(%{{.*}}[i0, i1 - 1] pad -inf
// CHECK:           loop.nest (o = 4, k = 3 reduction) ins(%[[ROW]][0, o + k] : memref<1x6xf32>)
