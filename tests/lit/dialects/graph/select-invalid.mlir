// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1
func.func @condition_of_integers(%c: tensor<2xi8>, %a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'graph.select' C1: expected a condition of dtype i1, found i8}}
  %0 = graph.select %c, %a, %b : tensor<2xi8>, tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----

// C2
func.func @two_dtypes(%c: tensor<2xi1>, %a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error @below {{'graph.select' C2: expected one dtype, found f32 and f64}}
  %0 = graph.select %c, %a, %b : tensor<2xi1>, tensor<2xf32>, tensor<2xf64> -> tensor<2xf64>
  func.return
}

// -----

// C3
func.func @shapes_that_do_not_broadcast(%c: tensor<4xi1>, %a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{'graph.select' C3: shapes (4,), (2,) and (2,) do not broadcast}}
  %0 = graph.select %c, %a, %b : tensor<4xi1>, tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}
