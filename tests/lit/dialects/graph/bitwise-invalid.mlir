// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// bitwise_and, C1
func.func @bitwise_and_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.bitwise_and' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.bitwise_and %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi8>
  func.return
}

// -----

// bitwise_and, C2
func.func @bitwise_and_of_shapes_that_do_not_broadcast(%a: tensor<2xi8>, %b: tensor<3xi8>) {
  // expected-error @below {{'graph.bitwise_and' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.bitwise_and %a, %b : tensor<2xi8>, tensor<3xi8> -> tensor<3xi8>
  func.return
}

// -----

// bitwise_and, C3
func.func @bitwise_and_of_floats(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'graph.bitwise_and' C3: expected an integer dtype, found f32}}
  %0 = graph.bitwise_and %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----

// bitwise_or, C1
func.func @bitwise_or_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.bitwise_or' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.bitwise_or %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi8>
  func.return
}

// -----

// bitwise_or, C2
func.func @bitwise_or_of_shapes_that_do_not_broadcast(%a: tensor<2xi8>, %b: tensor<3xi8>) {
  // expected-error @below {{'graph.bitwise_or' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.bitwise_or %a, %b : tensor<2xi8>, tensor<3xi8> -> tensor<3xi8>
  func.return
}

// -----

// bitwise_or, C3
func.func @bitwise_or_of_floats(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'graph.bitwise_or' C3: expected an integer dtype, found f32}}
  %0 = graph.bitwise_or %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----

// bitwise_xor, C1
func.func @bitwise_xor_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.bitwise_xor' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.bitwise_xor %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi8>
  func.return
}

// -----

// bitwise_xor, C2
func.func @bitwise_xor_of_shapes_that_do_not_broadcast(%a: tensor<2xi8>, %b: tensor<3xi8>) {
  // expected-error @below {{'graph.bitwise_xor' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.bitwise_xor %a, %b : tensor<2xi8>, tensor<3xi8> -> tensor<3xi8>
  func.return
}

// -----

// bitwise_xor, C3
func.func @bitwise_xor_of_floats(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'graph.bitwise_xor' C3: expected an integer dtype, found f32}}
  %0 = graph.bitwise_xor %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----

// shift_left, C1
func.func @shift_left_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.shift_left' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.shift_left %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi8>
  func.return
}

// -----

// shift_left, C2
func.func @shift_left_of_shapes_that_do_not_broadcast(%a: tensor<2xi8>, %b: tensor<3xi8>) {
  // expected-error @below {{'graph.shift_left' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.shift_left %a, %b : tensor<2xi8>, tensor<3xi8> -> tensor<3xi8>
  func.return
}

// -----

// shift_left, C3
func.func @shift_left_of_floats(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'graph.shift_left' C3: expected an integer dtype, found f32}}
  %0 = graph.shift_left %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----

// shift_right, C1
func.func @shift_right_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.shift_right' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.shift_right %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi8>
  func.return
}

// -----

// shift_right, C2
func.func @shift_right_of_shapes_that_do_not_broadcast(%a: tensor<2xi8>, %b: tensor<3xi8>) {
  // expected-error @below {{'graph.shift_right' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.shift_right %a, %b : tensor<2xi8>, tensor<3xi8> -> tensor<3xi8>
  func.return
}

// -----

// shift_right, C3
func.func @shift_right_of_floats(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'graph.shift_right' C3: expected an integer dtype, found f32}}
  %0 = graph.shift_right %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----

// bitwise_not, C1
func.func @bitwise_not_of_bools(%x: tensor<2xi1>) {
  // expected-error @below {{'graph.bitwise_not' C1: expected an integer dtype, found i1}}
  %0 = graph.bitwise_not %x : tensor<2xi1> -> tensor<2xi1>
  func.return
}
