// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// equal, C1
func.func @equal_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.equal' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.equal %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi1>
  func.return
}

// -----

// equal, C2
func.func @equal_of_shapes_that_do_not_broadcast(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error @below {{'graph.equal' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.equal %a, %b : tensor<2xi1>, tensor<3xi1> -> tensor<3xi1>
  func.return
}

// -----

// not_equal, C1
func.func @not_equal_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.not_equal' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.not_equal %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi1>
  func.return
}

// -----

// not_equal, C2
func.func @not_equal_of_shapes_that_do_not_broadcast(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error @below {{'graph.not_equal' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.not_equal %a, %b : tensor<2xi1>, tensor<3xi1> -> tensor<3xi1>
  func.return
}

// -----

// less, C1
func.func @less_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.less' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.less %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi1>
  func.return
}

// -----

// less, C2
func.func @less_of_shapes_that_do_not_broadcast(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error @below {{'graph.less' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.less %a, %b : tensor<2xi1>, tensor<3xi1> -> tensor<3xi1>
  func.return
}

// -----

// less_equal, C1
func.func @less_equal_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.less_equal' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.less_equal %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi1>
  func.return
}

// -----

// less_equal, C2
func.func @less_equal_of_shapes_that_do_not_broadcast(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error @below {{'graph.less_equal' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.less_equal %a, %b : tensor<2xi1>, tensor<3xi1> -> tensor<3xi1>
  func.return
}

// -----

// greater, C1
func.func @greater_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.greater' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.greater %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi1>
  func.return
}

// -----

// greater, C2
func.func @greater_of_shapes_that_do_not_broadcast(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error @below {{'graph.greater' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.greater %a, %b : tensor<2xi1>, tensor<3xi1> -> tensor<3xi1>
  func.return
}

// -----

// greater_equal, C1
func.func @greater_equal_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.greater_equal' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.greater_equal %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi1>
  func.return
}

// -----

// greater_equal, C2
func.func @greater_equal_of_shapes_that_do_not_broadcast(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error @below {{'graph.greater_equal' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.greater_equal %a, %b : tensor<2xi1>, tensor<3xi1> -> tensor<3xi1>
  func.return
}

// -----

// logical_and, C1
func.func @logical_and_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.logical_and' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.logical_and %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi1>
  func.return
}

// -----

// logical_and, C2
func.func @logical_and_of_shapes_that_do_not_broadcast(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error @below {{'graph.logical_and' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.logical_and %a, %b : tensor<2xi1>, tensor<3xi1> -> tensor<3xi1>
  func.return
}

// -----

// logical_or, C1
func.func @logical_or_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.logical_or' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.logical_or %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi1>
  func.return
}

// -----

// logical_or, C2
func.func @logical_or_of_shapes_that_do_not_broadcast(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error @below {{'graph.logical_or' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.logical_or %a, %b : tensor<2xi1>, tensor<3xi1> -> tensor<3xi1>
  func.return
}

// -----

// logical_xor, C1
func.func @logical_xor_of_two_dtypes(%a: tensor<2xi8>, %b: tensor<2xui8>) {
  // expected-error @below {{'graph.logical_xor' C1: expected one dtype, found i8 and ui8}}
  %0 = graph.logical_xor %a, %b : tensor<2xi8>, tensor<2xui8> -> tensor<2xi1>
  func.return
}

// -----

// logical_xor, C2
func.func @logical_xor_of_shapes_that_do_not_broadcast(%a: tensor<2xi1>, %b: tensor<3xi1>) {
  // expected-error @below {{'graph.logical_xor' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.logical_xor %a, %b : tensor<2xi1>, tensor<3xi1> -> tensor<3xi1>
  func.return
}

// -----

// logical_and, C3
func.func @logical_and_of_integers(%a: tensor<2xi8>, %b: tensor<2xi8>) {
  // expected-error @below {{'graph.logical_and' C3: expected i1, found i8}}
  %0 = graph.logical_and %a, %b : tensor<2xi8>, tensor<2xi8> -> tensor<2xi1>
  func.return
}

// -----

// logical_or, C3
func.func @logical_or_of_integers(%a: tensor<2xi8>, %b: tensor<2xi8>) {
  // expected-error @below {{'graph.logical_or' C3: expected i1, found i8}}
  %0 = graph.logical_or %a, %b : tensor<2xi8>, tensor<2xi8> -> tensor<2xi1>
  func.return
}

// -----

// logical_xor, C3
func.func @logical_xor_of_integers(%a: tensor<2xi8>, %b: tensor<2xi8>) {
  // expected-error @below {{'graph.logical_xor' C3: expected i1, found i8}}
  %0 = graph.logical_xor %a, %b : tensor<2xi8>, tensor<2xi8> -> tensor<2xi1>
  func.return
}

// -----

// logical_not, C1
func.func @logical_not_of_floats(%x: tensor<2xf32>) {
  // expected-error @below {{'graph.logical_not' C1: expected i1, found f32}}
  %0 = graph.logical_not %x : tensor<2xf32> -> tensor<2xi1>
  func.return
}

// -----

// C0
func.func @result_of_the_operands_dtype(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'graph.less' C0: expected result 0 of type tensor<2xi1>, found tensor<2xf32>}}
  %0 = graph.less %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}
