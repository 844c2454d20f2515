// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// add, C1
func.func @add_of_two_dtypes(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @below {{'graph.add' C1: expected one dtype, found f32 and i32}}
  %0 = graph.add %a, %b : tensor<2xf32>, tensor<2xi32> -> tensor<2xf32>
  func.return
}

// -----

// add, C2
func.func @add_of_shapes_that_do_not_broadcast(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'graph.add' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.add %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// add, C3
func.func @add_of_i1(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error @below {{'graph.add' C3: expected a float or integer dtype, found i1}}
  %0 = graph.add %a, %b : tensor<2xi1>, tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// sub, C1
func.func @sub_of_two_dtypes(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @below {{'graph.sub' C1: expected one dtype, found f32 and i32}}
  %0 = graph.sub %a, %b : tensor<2xf32>, tensor<2xi32> -> tensor<2xf32>
  func.return
}

// -----

// sub, C2
func.func @sub_of_shapes_that_do_not_broadcast(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'graph.sub' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.sub %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// sub, C3
func.func @sub_of_i1(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error @below {{'graph.sub' C3: expected a float or integer dtype, found i1}}
  %0 = graph.sub %a, %b : tensor<2xi1>, tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// mul, C1
func.func @mul_of_two_dtypes(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @below {{'graph.mul' C1: expected one dtype, found f32 and i32}}
  %0 = graph.mul %a, %b : tensor<2xf32>, tensor<2xi32> -> tensor<2xf32>
  func.return
}

// -----

// mul, C2
func.func @mul_of_shapes_that_do_not_broadcast(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'graph.mul' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.mul %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// mul, C3
func.func @mul_of_i1(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error @below {{'graph.mul' C3: expected a float or integer dtype, found i1}}
  %0 = graph.mul %a, %b : tensor<2xi1>, tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// div, C1
func.func @div_of_two_dtypes(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @below {{'graph.div' C1: expected one dtype, found f32 and i32}}
  %0 = graph.div %a, %b : tensor<2xf32>, tensor<2xi32> -> tensor<2xf32>
  func.return
}

// -----

// div, C2
func.func @div_of_shapes_that_do_not_broadcast(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'graph.div' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.div %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// div, C3
func.func @div_of_i1(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error @below {{'graph.div' C3: expected a float or integer dtype, found i1}}
  %0 = graph.div %a, %b : tensor<2xi1>, tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// mod, C1
func.func @mod_of_two_dtypes(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @below {{'graph.mod' C1: expected one dtype, found f32 and i32}}
  %0 = graph.mod %a, %b : tensor<2xf32>, tensor<2xi32> -> tensor<2xf32>
  func.return
}

// -----

// mod, C2
func.func @mod_of_shapes_that_do_not_broadcast(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'graph.mod' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.mod %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// mod, C3
func.func @mod_of_i1(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error @below {{'graph.mod' C3: expected a float or integer dtype, found i1}}
  %0 = graph.mod %a, %b : tensor<2xi1>, tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// maximum, C1
func.func @maximum_of_two_dtypes(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @below {{'graph.maximum' C1: expected one dtype, found f32 and i32}}
  %0 = graph.maximum %a, %b : tensor<2xf32>, tensor<2xi32> -> tensor<2xf32>
  func.return
}

// -----

// maximum, C2
func.func @maximum_of_shapes_that_do_not_broadcast(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'graph.maximum' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.maximum %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// maximum, C3
func.func @maximum_of_i1(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error @below {{'graph.maximum' C3: expected a float or integer dtype, found i1}}
  %0 = graph.maximum %a, %b : tensor<2xi1>, tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// minimum, C1
func.func @minimum_of_two_dtypes(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @below {{'graph.minimum' C1: expected one dtype, found f32 and i32}}
  %0 = graph.minimum %a, %b : tensor<2xf32>, tensor<2xi32> -> tensor<2xf32>
  func.return
}

// -----

// minimum, C2
func.func @minimum_of_shapes_that_do_not_broadcast(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'graph.minimum' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.minimum %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// minimum, C3
func.func @minimum_of_i1(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error @below {{'graph.minimum' C3: expected a float or integer dtype, found i1}}
  %0 = graph.minimum %a, %b : tensor<2xi1>, tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// pow, C1
func.func @pow_of_two_dtypes(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error @below {{'graph.pow' C1: expected one dtype, found f32 and i32}}
  %0 = graph.pow %a, %b : tensor<2xf32>, tensor<2xi32> -> tensor<2xf32>
  func.return
}

// -----

// pow, C2
func.func @pow_of_shapes_that_do_not_broadcast(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'graph.pow' C2: shapes (2,) and (3,) do not broadcast}}
  %0 = graph.pow %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// pow, C3
func.func @pow_of_i32(%a: tensor<2xui32>, %b: tensor<2xui32>) {
  // expected-error @below {{'graph.pow' C3: expected a float or signed integer dtype, found ui32}}
  %0 = graph.pow %a, %b : tensor<2xui32>, tensor<2xui32> -> tensor<2xui32>
  func.return
}

// -----

// mod, C4
func.func @python_mod_of_floats(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'graph.mod' C4: expected fmod = true on a float dtype, found false on f32}}
  %0 = graph.mod %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----

// C0
func.func @result_of_another_shape(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'graph.add' C0: expected result 0 of type tensor<2xf32>, found tensor<4xf32>}}
  %0 = graph.add %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<4xf32>
  func.return
}
