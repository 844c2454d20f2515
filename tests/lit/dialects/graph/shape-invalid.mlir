// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// reshape, C0
func.func @reshape_result(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reshape' C0: expected result 0 of type tensor<6xf32>, found tensor<3x2xf32>}}
  %0 = graph.reshape %x shape = [6] : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// -----

// reshape, C1, elements
func.func @reshape_elements(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reshape' C1: expected sizes that make 6 elements, found [7]}}
  %0 = graph.reshape %x shape = [7] : tensor<2x3xf32> -> tensor<7xf32>
  func.return
}

// -----

// reshape, C1, no -1
func.func @reshape_wildcard(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reshape' C1: expected sizes that make 6 elements, found [-1, -6]}}
  %0 = graph.reshape %x shape = [-1, -6] : tensor<2x3xf32> -> tensor<6xf32>
  func.return
}

// -----

// transpose, C1, twice
func.func @transpose_twice(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.transpose' C1: expected a permutation of 0 .. 1, found [0, 0]}}
  %0 = graph.transpose %x perm = [0, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// transpose, C1, how many
func.func @transpose_rank(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.transpose' C1: expected a permutation of 0 .. 1, found [0]}}
  %0 = graph.transpose %x perm = [0] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// broadcast_to, C1
func.func @broadcast_to(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.broadcast_to' C1: shape (2, 3) does not broadcast to [4, 3]}}
  %0 = graph.broadcast_to %x shape = [4, 3] : tensor<2x3xf32> -> tensor<4x3xf32>
  func.return
}

// -----

// broadcast_to, C1, smaller
func.func @broadcast_to_smaller(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.broadcast_to' C1: shape (2, 3) does not broadcast to [1, 3]}}
  %0 = graph.broadcast_to %x shape = [1, 3] : tensor<2x3xf32> -> tensor<1x3xf32>
  func.return
}

// -----

// concat, C1
func.func @concat_nothing() {
  // expected-error @below {{'graph.concat' C1: expected at least one operand, found none}}
  %0 = "graph.concat"() <{axis = 0 : i64}> : () -> tensor<2xf32>
  func.return
}

// -----

// concat, C2
func.func @concat_axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.concat' C2: expected an axis of rank 2, found 2}}
  %0 = graph.concat %x axis = 2 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// concat, C3, shapes
func.func @concat_shapes(%x: tensor<2x3xf32>, %y: tensor<3x3xf32>) {
  // expected-error @below {{'graph.concat' C3: expected one shape but for axis 1, found (2, 3), (3, 3)}}
  %0 = graph.concat %x, %y axis = 1 : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x6xf32>
  func.return
}

// -----

// concat, C3, dtypes
func.func @concat_dtypes(%x: tensor<2x3xf32>, %y: tensor<2x3xf64>) {
  // expected-error @below {{'graph.concat' C3: expected one dtype, found f32, f64}}
  %0 = graph.concat %x, %y axis = 1 : tensor<2x3xf32>, tensor<2x3xf64> -> tensor<2x6xf32>
  func.return
}

// -----

// slice, C1
func.func @slice_ranks(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.slice' C1: expected 2 starts, sizes and steps, found (1, 2, 2)}}
  %0 = graph.slice %x starts = [0] sizes = [1, 1] steps = [1, 1] : tensor<2x3xf32> -> tensor<1x1xf32>
  func.return
}

// -----

// slice, C2, a size
func.func @slice_size(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.slice' C2: expected sizes >= 0 and steps that are not 0, found [1, -1] and [1, 1]}}
  %0 = graph.slice %x starts = [0, 0] sizes = [1, -1] steps = [1, 1] : tensor<2x3xf32> -> tensor<1x1xf32>
  func.return
}

// -----

// slice, C2, a step
func.func @slice_step(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.slice' C2: expected sizes >= 0 and steps that are not 0, found [1, 1] and [1, 0]}}
  %0 = graph.slice %x starts = [0, 0] sizes = [1, 1] steps = [1, 0] : tensor<2x3xf32> -> tensor<1x1xf32>
  func.return
}

// -----

// slice, C3, behind
func.func @slice_behind(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.slice' C3: elements 0 to 4 of dimension 1 are outside a size of 3}}
  %0 = graph.slice %x starts = [0, 0] sizes = [1, 3] steps = [1, 2] : tensor<2x3xf32> -> tensor<1x3xf32>
  func.return
}

// -----

// slice, C3, before
func.func @slice_before(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.slice' C3: elements 0 to -1 of dimension 0 are outside a size of 2}}
  %0 = graph.slice %x starts = [0, 0] sizes = [2, 1] steps = [-1, 1] : tensor<2x3xf32> -> tensor<2x1xf32>
  func.return
}

// -----

// pad, C1, negative
func.func @pad_negative(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.pad' C1: expected 2 numbers >= 0 in low and in high, found [-1, 0] and [0, 0]}}
  %0 = graph.pad %x low = [-1, 0] high = [0, 0] value = 0.0 : tensor<2x3xf32> -> tensor<1x3xf32>
  func.return
}

// -----

// pad, C1, how many
func.func @pad_rank(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.pad' C1: expected 2 numbers >= 0 in low and in high, found [1] and [0, 0]}}
  %0 = graph.pad %x low = [1] high = [0, 0] value = 0.0 : tensor<2x3xf32> -> tensor<3x3xf32>
  func.return
}

// -----

// pad, C2, a fraction
func.func @pad_fraction(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.pad' C2: expected a value of i32, found 0.5}}
  %0 = graph.pad %x low = [1] high = [0] value = 0.5 : tensor<2xi32> -> tensor<3xi32>
  func.return
}

// -----

// pad, C2, out of range
func.func @pad_range(%x: tensor<2xui8>) {
  // expected-error @below {{'graph.pad' C2: expected a value of ui8, found -1.0}}
  %0 = graph.pad %x low = [1] high = [0] value = -1.0 : tensor<2xui8> -> tensor<3xui8>
  func.return
}

// -----

// pad, C2, a bool
func.func @pad_bool(%x: tensor<2xi1>) {
  // expected-error @below {{'graph.pad' C2: expected a value of i1, found 2.0}}
  %0 = graph.pad %x low = [1] high = [0] value = 2.0 : tensor<2xi1> -> tensor<3xi1>
  func.return
}
