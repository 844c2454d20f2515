// RUN: inarch-opt %s --split-input-file -p fuse-nests | filecheck %s
// RUN: inarch-opt %s --split-input-file -p fuse-nests --verify-diagnostics --remarks -o %t

// Bias and relu of a matmul; the product moves down to where its last consumer stood.
func.func @appends_bias_and_relu_to_a_reduction(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %b: memref<6xf32>, %y: memref<4x6xf32> {inarch.result}) {
  %t0 = loop.alloc : memref<4x6xf32>
  %t1 = loop.alloc : memref<4x6xf32>
  loop.nest (m = 4, n = 6, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>, %w[k, n] : memref<8x6xf32>) outs(%t0[m, n] init 0.0 : memref<4x6xf32>) {
  ^bb0(%e: f32, %f: f32, %acc: f32):
    %p = arith.mulf %e, %f : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  // expected-remark-re @below {{[fuse-nests] computed at the end of {{[^ ]+}}:{{[0-9]+}}:3}}
  loop.nest (i = 4, j = 6) ins(%t0[i, j] : memref<4x6xf32>, %b[j] : memref<6xf32>) outs(%t1[i, j] : memref<4x6xf32>) {
  ^bb0(%e: f32, %bias: f32, %acc: f32):
    %s = arith.addf %e, %bias : f32
    loop.yield %s : f32
  }
  // expected-remark-re @below {{[fuse-nests] computed at the end of {{[^ ]+}}:{{[0-9]+}}:3 + {{[^ ]+}}:{{[0-9]+}}:3}}
  loop.nest (i = 4, j = 6) ins(%t1[i, j] : memref<4x6xf32>) outs(%y[i, j] : memref<4x6xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %zero = arith.constant 0.0 : f32
    %r = arith.maximumf %e, %zero : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @appends_bias_and_relu_to_a_reduction
// CHECK-NEXT:    loop.nest (m = 4, n = 6, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>, %w[k, n] : memref<8x6xf32>, %b[n] : memref<6xf32>) outs(%y[m, n] init 0.0 : memref<4x6xf32>) {
// CHECK-NEXT:    ^bb0(%e: f32, %f: f32, %bias: f32, %acc: f32):
// CHECK-NEXT:      %p = arith.mulf %e, %f : f32
// CHECK-NEXT:      %s = arith.addf %acc, %p : f32
// CHECK-NEXT:      loop.yield %s : f32
// CHECK-NEXT:    } finish {
// CHECK-NEXT:    ^bb0(%{{.*}}: f32, %{{.*}}: f32, %[[B:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[ACC]], %[[B]] : f32
// CHECK-NEXT:      %[[Z:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      %[[R:.*]] = arith.maximumf %[[S]], %[[Z]] : f32
// CHECK-NEXT:      loop.yield %[[R]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

// -----

// The consumer may write a permutation, or a part of a larger buffer (concat, output at an offset).
func.func @writes_where_the_consumer_writes(%x: memref<4x8xf32>, %y: memref<9x4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>) outs(%t[m] init 0.0 : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  // expected-remark-re @below {{[fuse-nests] computed at the end of {{[^ ]+}}:{{[0-9]+}}:3}}
  loop.nest (j = 1, i = 4) ins(%t[i] : memref<4xf32>) outs(%y[j + 8, i] : memref<9x4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK-LABEL: @writes_where_the_consumer_writes
// CHECK-NEXT:    loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>) outs(%y[8, m] init 0.0 : memref<9x4xf32>) {

// -----

// A chain joins at the consumer's reads; equal reads of one buffer become one operand.
func.func @joins_elementwise_nests_through_a_transpose(%x: memref<4x6xf32>, %y: memref<6x4xf32> {inarch.result}) {
  %t0 = loop.alloc : memref<4x6xf32>
  %t1 = loop.alloc : memref<6x4xf32>
  loop.nest (i = 4, j = 6) ins(%x[i, j] : memref<4x6xf32>) outs(%t0[i, j] : memref<4x6xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = math.tanh %e : f32
    loop.yield %s : f32
  }
  // expected-remark-re @below {{[fuse-nests] computes {{[^ ]+}}:{{[0-9]+}}:3 where it reads it}}
  loop.nest (i = 6, j = 4) ins(%t0[j, i] : memref<4x6xf32>) outs(%t1[i, j] : memref<6x4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    loop.yield %e : f32
  }
  // expected-remark-re @below {{[fuse-nests] computes {{[^ ]+}}:{{[0-9]+}}:3 + {{[^ ]+}}:{{[0-9]+}}:3 where it reads it}}
  loop.nest (i = 6, j = 4) ins(%t1[i, j] : memref<6x4xf32>, %x[j, i] : memref<4x6xf32>) outs(%y[i, j] : memref<6x4xf32>) {
  ^bb0(%e: f32, %f: f32, %acc: f32):
    %s = arith.mulf %e, %f : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @joins_elementwise_nests_through_a_transpose
// CHECK-NEXT:    loop.nest (i = 6, j = 4) ins(%x[j, i] : memref<4x6xf32>) outs(%y[i, j] : memref<6x4xf32>) {
// CHECK-NEXT:    ^bb0(%[[E:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:      %[[T:.*]] = math.tanh %[[E]] : f32
// CHECK-NEXT:      %[[S:.*]] = arith.mulf %[[T]], %[[E]] : f32
// CHECK-NEXT:      loop.yield %[[S]] : f32

// -----

// Elementwise nests of different types join; a reduction's accumulator has the type of its output.
func.func @joins_casts_but_not_to_a_reduction(%x: memref<4xf32>, %y: memref<4xf64> {inarch.result}, %a: memref<4x8xf32>, %z: memref<4xf64> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  %u = loop.alloc : memref<4xf32>
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%t[i] : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  // expected-remark-re @below {{[fuse-nests] computes {{[^ ]+}}:{{[0-9]+}}:3 where it reads it}}
  loop.nest (i = 4) ins(%t[i] : memref<4xf32>) outs(%y[i] : memref<4xf64>) {
  ^bb0(%e: f32, %acc: f64):
    %s = arith.extf %e : f32 to f64
    loop.yield %s : f64
  }
  loop.nest (m = 4, k = 8 reduction) ins(%a[m, k] : memref<4x8xf32>) outs(%u[m] init 0.0 : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 4) ins(%u[i] : memref<4xf32>) outs(%z[i] : memref<4xf64>) {
  ^bb0(%e: f32, %acc: f64):
    %s = arith.extf %e : f32 to f64
    loop.yield %s : f64
  }
  func.return
}
// CHECK-LABEL: @joins_casts_but_not_to_a_reduction
// CHECK-NEXT:    %u = loop.alloc : memref<4xf32>
// CHECK-NEXT:    loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%y[i] : memref<4xf64>) {
// CHECK:         outs(%u[m] init 0.0 : memref<4xf32>)
// CHECK-NOT:     finish
// CHECK:         ins(%u[i] : memref<4xf32>) outs(%z[i] : memref<4xf64>)

// -----

func.func @joins_a_square_to_the_sum_that_reads_it_once(%x: memref<4x8xf32>, %y: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4x8xf32>
  loop.nest (i = 4, j = 8) ins(%x[i, j] : memref<4x8xf32>) outs(%t[i, j] : memref<4x8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.mulf %e, %e : f32
    loop.yield %s : f32
  }
  // expected-remark-re @below {{[fuse-nests] computes {{[^ ]+}}:{{[0-9]+}}:3 where it reads it}}
  loop.nest (i = 4, k = 8 reduction) ins(%t[i, k] : memref<4x8xf32>) outs(%y[i] init 0.0 : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @joins_a_square_to_the_sum_that_reads_it_once
// CHECK-NEXT:    loop.nest (i = 4, k = 8 reduction) ins(%x[i, k] : memref<4x8xf32>) outs(%y[i] init 0.0 : memref<4xf32>) {
// CHECK-NEXT:    ^bb0(%[[E:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[S:.*]] = arith.mulf %[[E]], %[[E]] {inarch.rounded} : f32
// CHECK-NEXT:      %{{.*}} = arith.addf %[[ACC]], %[[S]] : f32

// -----

// Three output columns would each compute the square again.
func.func @keeps_a_producer_that_would_be_computed_more_often(%x: memref<8xf32>, %w: memref<8x3xf32>, %y: memref<3xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (i = 8) ins(%x[i] : memref<8xf32>) outs(%t[i] : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.mulf %e, %e : f32
    loop.yield %s : f32
  }
  loop.nest (n = 3, k = 8 reduction) ins(%t[k] : memref<8xf32>, %w[k, n] : memref<8x3xf32>) outs(%y[n] init 0.0 : memref<3xf32>) {
  ^bb0(%e: f32, %f: f32, %acc: f32):
    %p = arith.mulf %e, %f : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_a_producer_that_would_be_computed_more_often
// CHECK:         outs(%t[i] : memref<8xf32>)
// CHECK:         ins(%t[k] : memref<8xf32>, %w[k, n]

// -----

func.func @keeps_relu_whose_input_has_two_users(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}, %z: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%t[i] : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 4) ins(%t[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %zero = arith.constant 0.0 : f32
    %r = arith.maximumf %e, %zero : f32
    loop.yield %r : f32
  }
  loop.nest (i = 4) ins(%t[i] : memref<4xf32>) outs(%z[i] : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = math.tanh %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_relu_whose_input_has_two_users
// CHECK:         outs(%t[i] : memref<4xf32>)
// CHECK:         ins(%t[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>)
// CHECK:         ins(%t[i] : memref<4xf32>) outs(%z[i] : memref<4xf32>)

// -----

// The output argument must be written: its reader cannot take its place.
func.func @keeps_a_producer_that_writes_an_argument(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}, %z: memref<4xf32> {inarch.result}) {
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 4) ins(%y[i] : memref<4xf32>) outs(%z[i] : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = math.tanh %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_a_producer_that_writes_an_argument
// CHECK:         outs(%y[i] : memref<4xf32>)
// CHECK:         ins(%y[i] : memref<4xf32>) outs(%z[i] : memref<4xf32>)

// -----

// Outside the buffer the consumer reads 0; the producer has no point there.
func.func @keeps_a_producer_that_is_read_with_pad(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%t[i] : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = math.tanh %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 4) ins(%t[i - 1] pad 0.0 : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_a_producer_that_is_read_with_pad
// CHECK:         outs(%t[i] : memref<4xf32>)
// CHECK:         ins(%t[i - 1] pad 0.0 : memref<4xf32>) outs(%y[i] : memref<4xf32>)

// -----

// Two nests write the buffer, each a half: neither makes all that is read.
func.func @keeps_a_buffer_with_two_writers(%x: memref<4xf32>, %y: memref<8xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%t[i] : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%t[i + 4] : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8) ins(%t[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = math.tanh %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_a_buffer_with_two_writers
// CHECK:         outs(%t[i] : memref<8xf32>)
// CHECK:         outs(%t[i + 4] : memref<8xf32>)
// CHECK:         ins(%t[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>)

// -----

// A view has other indices than the buffer.
func.func @keeps_a_buffer_that_is_read_through_a_view(%x: memref<4xf32>, %y: memref<2x2xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%t[i] : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  %v = loop.reshape %t : memref<4xf32> to memref<2x2xf32>
  loop.nest (i = 2, j = 2) ins(%v[i, j] : memref<2x2xf32>) outs(%y[i, j] : memref<2x2xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = math.tanh %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_a_buffer_that_is_read_through_a_view
// CHECK:         outs(%t[i] : memref<4xf32>)
// CHECK:         ins(%v[i, j] : memref<2x2xf32>)

// -----

// The mean is one number a row: its reader runs over more points than that.
func.func @keeps_a_reduction_that_is_broadcast(%x: memref<4x8xf32>, %y: memref<4x8xf32> {inarch.result}) {
  %t = loop.alloc : memref<4x1xf32>
  loop.nest (i = 4, k = 8 reduction) ins(%x[i, k] : memref<4x8xf32>) outs(%t[i, 0] init 0.0 : memref<4x1xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 4, j = 8) ins(%x[i, j] : memref<4x8xf32>, %t[i, 0] : memref<4x1xf32>) outs(%y[i, j] : memref<4x8xf32>) {
  ^bb0(%e: f32, %m: f32, %acc: f32):
    %s = arith.subf %e, %m : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_a_reduction_that_is_broadcast
// CHECK:         outs(%t[i, 0] init 0.0 : memref<4x1xf32>)
// CHECK:         ins(%x[i, j] : memref<4x8xf32>, %t[i, 0] : memref<4x1xf32>)

// -----

// An accumulation goes on from what the buffer holds.
func.func @keeps_an_accumulation_without_init(%x: memref<4x8xf32>, %y: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  loop.nest (i = 4, k = 8 reduction) ins(%x[i, k] : memref<4x8xf32>) outs(%t[i] : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 4) ins(%t[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_an_accumulation_without_init
// CHECK:         outs(%t[i] : memref<4xf32>)
// CHECK:         ins(%t[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>)

// -----

// The reduction would write elements that its reader has not.
func.func @keeps_a_reduction_of_which_a_part_is_read(%x: memref<4x8xf32>, %y: memref<2xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  loop.nest (i = 4, k = 8 reduction) ins(%x[i, k] : memref<4x8xf32>) outs(%t[i] init 0.0 : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 2) ins(%t[i] : memref<4xf32>) outs(%y[i] : memref<2xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_a_reduction_of_which_a_part_is_read
// CHECK:         outs(%t[i] init 0.0 : memref<4xf32>)
// CHECK:         ins(%t[i] : memref<4xf32>) outs(%y[i] : memref<2xf32>)

// -----

// The reader transposes: the reduction would write across the rows in which it is computed.
func.func @keeps_a_reduction_that_is_transposed(%x: memref<4x5x8xf32>, %y: memref<5x4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4x5xf32>
  loop.nest (i = 4, j = 5, k = 8 reduction) ins(%x[i, j, k] : memref<4x5x8xf32>) outs(%t[i, j] init 0.0 : memref<4x5xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (j = 5, i = 4) ins(%t[i, j] : memref<4x5xf32>) outs(%y[j, i] : memref<5x4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_a_reduction_that_is_transposed
// CHECK:         outs(%t[i, j] init 0.0 : memref<4x5xf32>)
// CHECK:         ins(%t[i, j] : memref<4x5xf32>) outs(%y[j, i] : memref<5x4xf32>)

// -----

// Bytes are read three times, as bytes: microkernels multiply them.
func.func @widens_integers_where_they_are_read(%x: memref<8xi8>, %w: memref<3x8xi32>, %y: memref<3xi32> {inarch.result}) {
  %t = loop.alloc : memref<8xi32>
  loop.nest (k = 8) ins(%x[k] : memref<8xi8>) outs(%t[k] : memref<8xi32>) {
  ^bb0(%e: i8, %o: i32):
    %s = arith.extsi %e : i8 to i32
    loop.yield %s : i32
  }
  // expected-remark-re @below {{[fuse-nests] computes {{[^ ]+}}:{{[0-9]+}}:3 where it reads it}}
  loop.nest (m = 3, k = 8 reduction) ins(%t[k] : memref<8xi32>, %w[m, k] : memref<3x8xi32>) outs(%y[m] init 0 : memref<3xi32>) {
  ^bb0(%a: i32, %b: i32, %acc: i32):
    %p = arith.muli %a, %b : i32
    %s = arith.addi %acc, %p : i32
    loop.yield %s : i32
  }
  func.return
}
// CHECK-LABEL: @widens_integers_where_they_are_read
// CHECK-NEXT:    loop.nest (m = 3, k = 8 reduction) ins(%w[m, k] : memref<3x8xi32>, %x[k] : memref<8xi8>) outs(%y[m] init 0 : memref<3xi32>) {
// CHECK-NEXT:    ^bb0(%{{.*}}: i32, %[[X:.*]]: i8, %{{.*}}: i32):
// CHECK-NEXT:      arith.extsi %[[X]] : i8 to i32

// -----

// Those of 16 bits are no sums of 32: they are stored, as kernels read them. What leaves the integers is no end of the sum, either.
func.func @keeps_parts_of_widening(%x: memref<8xi8>, %w: memref<3x8xi16>, %y: memref<3xi32> {inarch.result}) {
  %t = loop.alloc : memref<8xi16>
  loop.nest (k = 8) ins(%x[k] : memref<8xi8>) outs(%t[k] : memref<8xi16>) {
  ^bb0(%e: i8, %o: i16):
    %s = arith.extsi %e : i8 to i16
    loop.yield %s : i16
  }
  %u = loop.alloc : memref<3xi32>
  loop.nest (m = 3, k = 8 reduction) ins(%t[k] : memref<8xi16>, %w[m, k] : memref<3x8xi16>) outs(%u[m] init 0 : memref<3xi32>) {
  ^bb0(%a: i16, %b: i16, %acc: i32):
    %c = arith.extsi %a : i16 to i32
    %d = arith.extsi %b : i16 to i32
    %p = arith.muli %c, %d : i32
    %s = arith.addi %acc, %p : i32
    loop.yield %s : i32
  }
  loop.nest (m = 3) ins(%u[m] : memref<3xi32>) outs(%y[m] : memref<3xi32>) {
  ^bb0(%e: i32, %o: i32):
    %f = arith.sitofp %e : i32 to f32
    %n = arith.negf %f : f32
    %s = arith.fptosi %n : f32 to i32
    loop.yield %s : i32
  }
  func.return
}
// CHECK-LABEL: @keeps_parts_of_widening
// CHECK:         outs(%t[k] : memref<8xi16>)
// CHECK:         ins(%t[k] : memref<8xi16>, %w[m, k] : memref<3x8xi16>) outs(%u[m] init 0 : memref<3xi32>)
// CHECK:         ins(%u[m] : memref<3xi32>) outs(%y[m] : memref<3xi32>)

// -----

// What is more than that is computed once.
func.func @keeps_arithmetic_that_many_points_read(%x: memref<8xf32>, %w: memref<3x8xf32>, %y: memref<3xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (k = 8) ins(%x[k] : memref<8xf32>) outs(%t[k] : memref<8xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  loop.nest (m = 3, k = 8 reduction) ins(%t[k] : memref<8xf32>, %w[m, k] : memref<3x8xf32>) outs(%y[m] init 0.0 : memref<3xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_arithmetic_that_many_points_read
// CHECK:         outs(%t[k] : memref<8xf32>)
// CHECK:         ins(%t[k] : memref<8xf32>, %w[m, k] : memref<3x8xf32>) outs(%y[m] init 0.0 : memref<3xf32>)

// -----

// A scan computes an elementwise producer where it reads it, and a consumer at the end of each of its
// points: the accumulator goes on without what `finish` makes of it.
func.func @a_scan_between_two(%x: memref<4x8xf32>, %b: memref<8xf32>, %y: memref<4x8xf32> {inarch.result}) {
  %t0 = loop.alloc : memref<4x8xf32>
  %t1 = loop.alloc : memref<4x8xf32>
  loop.nest (i = 4, j = 8) ins(%x[i, j] : memref<4x8xf32>) outs(%t0[i, j] : memref<4x8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %n = arith.negf %e : f32
    loop.yield %n : f32
  }
  // expected-remark-re @below {{[fuse-nests] computes {{[^ ]+}}:{{[0-9]+}}:3 where it reads it}}
  loop.nest (i = 4, k = 8 scan) ins(%t0[i, k] : memref<4x8xf32>) outs(%t1[i, k] init 0.0 : memref<4x8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  // expected-remark-re @below {{[fuse-nests] computed at the end of {{.*}}}}
  loop.nest (i = 4, j = 8) ins(%t1[i, j] : memref<4x8xf32>, %b[j] : memref<8xf32>) outs(%y[i, j] : memref<4x8xf32>) {
  ^bb0(%e: f32, %bias: f32, %acc: f32):
    %m = arith.mulf %e, %bias : f32
    loop.yield %m : f32
  }
  func.return
}
// CHECK-LABEL: @a_scan_between_two
// CHECK-NEXT:    loop.nest (i = 4, k = 8 scan) ins(%x[i, k] : memref<4x8xf32>, %b[k] : memref<8xf32>) outs(%y[i, k] init 0.0 : memref<4x8xf32>) {
// CHECK-NEXT:    ^bb0(%e: f32, %bias: f32, %acc: f32):
// CHECK-NEXT:      %[[N:.*]] = arith.negf %e : f32
// CHECK-NEXT:      %[[S:.*]] = arith.addf %acc, %[[N]] : f32
// CHECK-NEXT:      loop.yield %[[S]] : f32
// CHECK-NEXT:    } finish {
// CHECK-NEXT:    ^bb0(%{{.*}}: f32, %[[B:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[M:.*]] = arith.mulf %[[ACC]], %[[B]] : f32
// CHECK-NEXT:      loop.yield %[[M]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

// -----

// A scan is no elementwise nest, whatever its body is: its points come in their order, and are all of them.
func.func @a_scan_is_no_producer(%x: memref<8xf32>, %w: memref<8xf32>, %y: memref<8xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (k = 8 scan) ins(%x[k] : memref<8xf32>) outs(%t[k] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8) ins(%t[-i + 7] : memref<8xf32>, %w[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%e: f32, %f: f32, %acc: f32):
    %s = arith.addf %e, %f : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @a_scan_is_no_producer
// CHECK-NEXT:    loop.alloc
// CHECK-NEXT:    loop.nest (k = 8 scan)
// CHECK:         loop.nest (i = 8)

// -----

// What a scan computes along memory is not written across it: that is a copy's.
func.func @a_scan_does_not_iteration(%x: memref<4x8xf32>, %y: memref<8x4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4x8xf32>
  loop.nest (i = 4, k = 8 scan) ins(%x[i, k] : memref<4x8xf32>) outs(%t[i, k] init 0.0 : memref<4x8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (j = 8, i = 4) ins(%t[i, j] : memref<4x8xf32>) outs(%y[j, i] : memref<8x4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK-LABEL: @a_scan_does_not_iteration
// CHECK:         loop.nest (i = 4, k = 8 scan)
// CHECK:         loop.nest (j = 8, i = 4)

// -----

// Two nests write every element once: the even ones and the odd ones. Each computes the relu of its own.
func.func @appends_to_all_parts(%x: memref<4x8xf32>, %w: memref<2x8xf32>, %b: memref<8xf32>, %y: memref<8xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>, %w[0, k] : memref<2x8xf32>) outs(%t[m * 2] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %f: f32, %acc: f32):
    %p = arith.mulf %e, %f : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>, %w[1, k] : memref<2x8xf32>) outs(%t[m * 2 + 1] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %f: f32, %acc: f32):
    %p = arith.mulf %e, %f : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  // expected-remark-re @below {{[fuse-nests] computed at the end of {{[^ ]+}}:{{[0-9]+}}:3, parts: 2}}
  loop.nest (i = 8) ins(%t[i] : memref<8xf32>, %b[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%e: f32, %bias: f32, %acc: f32):
    %s = arith.maximumf %e, %bias : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @appends_to_all_parts
// CHECK-NEXT:    loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>, %w[0, k] : memref<2x8xf32>, %b[m * 2] : memref<8xf32>) outs(%y[m * 2] init 0.0 : memref<8xf32>) {
// CHECK:         finish
// CHECK:           arith.maximumf
// CHECK:         loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>, %w[1, k] : memref<2x8xf32>, %b[m * 2 + 1] : memref<8xf32>) outs(%y[m * 2 + 1] init 0.0 : memref<8xf32>) {
// CHECK:         finish
// CHECK:           arith.maximumf
// CHECK-NOT:     loop.nest
// CHECK:         func.return

// -----

// The two write as many elements as there are, but one of them twice and another one never.
func.func @keeps_parts_that_meet(%x: memref<4x8xf32>, %y: memref<8xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>) outs(%t[m * 2] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>) outs(%t[m + 4] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8) ins(%t[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %e, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_parts_that_meet
// CHECK:         outs(%t[m * 2] init 0.0
// CHECK:         outs(%t[m + 4] init 0.0
// CHECK:         ins(%t[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>)

// -----

// A part that another op fills is not known; one that goes on from what is there has no end of its own.
func.func @keeps_what_is_not_all_nests(%x: memref<4x8xf32>, %z: memref<4x8xf32>, %y: memref<8xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>) outs(%t[m * 2] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (m = 4) ins(%z[m, 0] : memref<4x8xf32>) outs(%t[m * 2 + 1] : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8) ins(%t[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %e, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_what_is_not_all_nests
// CHECK:         outs(%t[m * 2] init 0.0
// CHECK:         outs(%t[m * 2 + 1] : memref<8xf32>)
// CHECK:         ins(%t[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>)

// -----

// Two of the elements are nobody's, and a part of the consumer would be missing.
func.func @keeps_parts_with_a_hole(%x: memref<3x8xf32>, %y: memref<8xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (m = 3, k = 8 reduction) ins(%x[m, k] : memref<3x8xf32>) outs(%t[m * 2] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (m = 3, k = 8 reduction) ins(%x[m, k] : memref<3x8xf32>) outs(%t[m * 2 + 1] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8) ins(%t[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %e, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_parts_with_a_hole
// CHECK:         ins(%t[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>)

// -----

// What the first part reads is written before the consumer runs.
func.func @keeps_parts_before_a_write(%x: memref<4x8xf32>, %y: memref<8xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>) outs(%t[m * 2] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (m = 4, k = 8) outs(%x[m, k] : memref<4x8xf32>) {
  ^bb0(%acc: f32):
    %one = arith.constant 1.0 : f32
    loop.yield %one : f32
  }
  loop.nest (m = 4, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>) outs(%t[m * 2 + 1] init 0.0 : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8) ins(%t[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %e, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_parts_before_a_write
// CHECK:         ins(%t[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>)

// -----

// A map that writes all of a buffer in pieces computes bias, residual and relu at each of its outputs.
func.func @appends_to_pieces(%x: memref<2x3x8xf32>, %b: memref<8xf32>, %r: memref<4x3x8xf32>, %y: memref<4x3x8xf32> {inarch.result}) {
  %t = loop.alloc : memref<4x3x8xf32>
  %u = loop.alloc : memref<4x3x8xf32>
  loop.nest (i = 2, j = 3, l = 8) ins(%x[i, j, l] : memref<2x3x8xf32>) outs(%t[i * 2, j, l] : memref<4x3x8xf32>, %t[i * 2 + 1, j, l] : memref<4x3x8xf32>) {
  ^bb0(%e: f32, %o: f32, %p: f32):
    %n = arith.negf %e : f32
    loop.yield %e, %n : f32, f32
  }
  // expected-remark-re @below {{[fuse-nests] computed at the end of {{[^ ]+}}:{{[0-9]+}}:3, pieces: 2}}
  loop.nest (h = 4, w = 3, k = 8) ins(%t[h, w, k] : memref<4x3x8xf32>, %b[k] : memref<8xf32>) outs(%u[h, w, k] : memref<4x3x8xf32>) {
  ^bb0(%e: f32, %bias: f32, %o: f32):
    %s = arith.addf %e, %bias : f32
    loop.yield %s : f32
  }
  // expected-remark-re @below {{[fuse-nests] computed at the end of {{[^ ]+}}:{{[0-9]+}}:3 + {{[^ ]+}}:{{[0-9]+}}:3, pieces: 2}}
  loop.nest (h = 4, w = 3, k = 8) ins(%u[h, w, k] : memref<4x3x8xf32>, %r[h, w, k] : memref<4x3x8xf32>) outs(%y[h, w, k] : memref<4x3x8xf32>) {
  ^bb0(%e: f32, %f: f32, %o: f32):
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %e, %f : f32
    %m = arith.maximumf %s, %zero : f32
    loop.yield %m : f32
  }
  func.return
}
// CHECK-LABEL: @appends_to_pieces
// CHECK-NEXT:    loop.nest (i = 2, j = 3, l = 8) ins(%x[i, j, l] : memref<2x3x8xf32>, %b[l] : memref<8xf32>, %r[i * 2, j, l] : memref<4x3x8xf32>, %r[i * 2 + 1, j, l] : memref<4x3x8xf32>) outs(%y[i * 2, j, l] : memref<4x3x8xf32>, %y[i * 2 + 1, j, l] : memref<4x3x8xf32>) {
// CHECK-NEXT:    ^bb0(%e: f32, %bias: f32, %f: f32, %[[F:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK-NEXT:      %n = arith.negf %e : f32
// CHECK-NEXT:      %[[A:.*]] = arith.addf %e, %bias : f32
// CHECK-NEXT:      %[[B:.*]] = arith.addf %n, %bias : f32
// CHECK:           %[[C:.*]] = arith.addf %[[A]], %f : f32
// CHECK-NEXT:      %[[M:.*]] = arith.maximumf %[[C]], %{{.*}} : f32
// CHECK:           %[[D:.*]] = arith.addf %[[B]], %[[F]] : f32
// CHECK-NEXT:      %[[N:.*]] = arith.maximumf %[[D]], %{{.*}} : f32
// CHECK-NEXT:      loop.yield %[[M]], %[[N]] : f32, f32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

// -----

// Not where a piece is missing or another nest's, is read at another point, or goes on from the buffer; where
// the reader writes what the map reads; where lanes would be lost: by a comparison, a transposed output, a pad.
func.func @keeps_pieces(%x: memref<2x8xf32>, %r: memref<4x8xf32>, %y: memref<4x8xf32> {inarch.result}, %z: memref<8x4xf32> {inarch.result}, %v: memref<5x8xf32> {inarch.result}, %w: memref<4x8xf32> {inarch.result}) {
  %a = loop.alloc : memref<5x8xf32>
  loop.nest (l = 8) outs(%a[4, l] : memref<5x8xf32>) {
  ^bb0(%o: f32):
    %zero = arith.constant 0.0 : f32
    loop.yield %zero : f32
  }
  loop.nest (i = 2, l = 8) ins(%x[i, l] : memref<2x8xf32>) outs(%a[i, l] : memref<5x8xf32>, %a[i + 2, l] : memref<5x8xf32>) {
  ^bb0(%e: f32, %o: f32, %p: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (h = 5, k = 8) ins(%a[h, k] : memref<5x8xf32>) outs(%v[h, k] : memref<5x8xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  %b = loop.alloc : memref<4x8xf32>
  loop.nest (i = 2, l = 8) ins(%x[i, l] : memref<2x8xf32>) outs(%b[i, l] : memref<4x8xf32>, %b[i + 2, l] : memref<4x8xf32>) {
  ^bb0(%e: f32, %o: f32, %p: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (h = 4, k = 8) ins(%b[h, k] : memref<4x8xf32>, %b[-h + 3, k] : memref<4x8xf32>) outs(%y[h, k] : memref<4x8xf32>) {
  ^bb0(%e: f32, %f: f32, %o: f32):
    %s = arith.addf %e, %f : f32
    loop.yield %s : f32
  }
  %c = loop.alloc : memref<4x8xf32>
  loop.nest (i = 2, l = 8) ins(%x[i, l] : memref<2x8xf32>) outs(%c[i, l] : memref<4x8xf32>, %c[i + 2, l] init 1.0 : memref<4x8xf32>) {
  ^bb0(%e: f32, %o: f32, %p: f32):
    %s = arith.addf %p, %e : f32
    loop.yield %e, %s : f32, f32
  }
  loop.nest (h = 4, k = 8) ins(%c[h, k] : memref<4x8xf32>) outs(%y[h, k] : memref<4x8xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  %d = loop.alloc : memref<4x8xf32>
  loop.nest (i = 2, l = 8) ins(%x[i, l] : memref<2x8xf32>) outs(%d[i, l] : memref<4x8xf32>, %d[i + 2, l] : memref<4x8xf32>) {
  ^bb0(%e: f32, %o: f32, %p: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (h = 4, k = 8) ins(%d[h, k] : memref<4x8xf32>) outs(%y[h, k] : memref<4x8xf32>) {
  ^bb0(%e: f32, %o: f32):
    %t = arith.cmpf olt, %e, %e : f32
    %s = arith.select %t, %e, %e : f32
    loop.yield %s : f32
  }
  %f = loop.alloc : memref<4x8xf32>
  loop.nest (i = 2, l = 8) ins(%x[i, l] : memref<2x8xf32>) outs(%f[i, l] : memref<4x8xf32>, %f[i + 2, l] : memref<4x8xf32>) {
  ^bb0(%e: f32, %o: f32, %p: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (h = 4, k = 8) ins(%f[h, k] : memref<4x8xf32>) outs(%z[k, h] : memref<8x4xf32>) {
  ^bb0(%e: f32, %o: f32):
    loop.yield %e : f32
  }
  %g = loop.alloc : memref<4x8xf32>
  loop.nest (i = 2, l = 8) ins(%x[i, l] : memref<2x8xf32>) outs(%g[i, l] : memref<4x8xf32>, %g[i + 2, l] : memref<4x8xf32>) {
  ^bb0(%e: f32, %o: f32, %p: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (h = 4, k = 8) ins(%g[h, k] : memref<4x8xf32>, %r[h - 1, k] pad 0.0 : memref<4x8xf32>) outs(%y[h, k] : memref<4x8xf32>) {
  ^bb0(%e: f32, %f0: f32, %o: f32):
    %s = arith.addf %e, %f0 : f32
    loop.yield %s : f32
  }
  %k = loop.alloc : memref<4x8xf32>
  loop.nest (i = 2, l = 8) ins(%w[i + 1, l] : memref<4x8xf32>) outs(%k[i, l] : memref<4x8xf32>, %k[i + 2, l] : memref<4x8xf32>) {
  ^bb0(%e: f32, %o: f32, %p: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (h = 4, k = 8) ins(%k[h, k] : memref<4x8xf32>) outs(%w[h, k] : memref<4x8xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  %m = loop.alloc : memref<5x8xf32>
  loop.nest (i = 2, l = 8) ins(%x[i, l] : memref<2x8xf32>) outs(%m[i, l] : memref<5x8xf32>, %m[i + 2, l] : memref<5x8xf32>) {
  ^bb0(%e: f32, %o: f32, %p: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (h = 5, k = 8) ins(%m[h, k] : memref<5x8xf32>) outs(%v[h, k] : memref<5x8xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @keeps_pieces
// CHECK-COUNT-8: loop.alloc
