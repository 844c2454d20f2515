// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// neg, C1
func.func @neg_of_bools(%x: tensor<2xi1>) {
  // expected-error @below {{'graph.neg' C1: expected a float or integer dtype, found i1}}
  %0 = graph.neg %x : tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// abs, C1
func.func @abs_of_bools(%x: tensor<2xi1>) {
  // expected-error @below {{'graph.abs' C1: expected a float or integer dtype, found i1}}
  %0 = graph.abs %x : tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// sign, C1
func.func @sign_of_bools(%x: tensor<2xi1>) {
  // expected-error @below {{'graph.sign' C1: expected a float or integer dtype, found i1}}
  %0 = graph.sign %x : tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// relu, C1
func.func @relu_of_bools(%x: tensor<2xi1>) {
  // expected-error @below {{'graph.relu' C1: expected a float or integer dtype, found i1}}
  %0 = graph.relu %x : tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// exp, C1
func.func @exp_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.exp' C1: expected a float dtype, found i32}}
  %0 = graph.exp %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// expm1, C1
func.func @expm1_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.expm1' C1: expected a float dtype, found i32}}
  %0 = graph.expm1 %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// log, C1
func.func @log_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.log' C1: expected a float dtype, found i32}}
  %0 = graph.log %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// log1p, C1
func.func @log1p_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.log1p' C1: expected a float dtype, found i32}}
  %0 = graph.log1p %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// sqrt, C1
func.func @sqrt_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.sqrt' C1: expected a float dtype, found i32}}
  %0 = graph.sqrt %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// reciprocal, C1
func.func @reciprocal_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.reciprocal' C1: expected a float dtype, found i32}}
  %0 = graph.reciprocal %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// erf, C1
func.func @erf_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.erf' C1: expected a float dtype, found i32}}
  %0 = graph.erf %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// tanh, C1
func.func @tanh_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.tanh' C1: expected a float dtype, found i32}}
  %0 = graph.tanh %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// sigmoid, C1
func.func @sigmoid_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.sigmoid' C1: expected a float dtype, found i32}}
  %0 = graph.sigmoid %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// sin, C1
func.func @sin_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.sin' C1: expected a float dtype, found i32}}
  %0 = graph.sin %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// cos, C1
func.func @cos_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.cos' C1: expected a float dtype, found i32}}
  %0 = graph.cos %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// floor, C1
func.func @floor_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.floor' C1: expected a float dtype, found i32}}
  %0 = graph.floor %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// ceil, C1
func.func @ceil_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.ceil' C1: expected a float dtype, found i32}}
  %0 = graph.ceil %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// round, C1
func.func @round_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.round' C1: expected a float dtype, found i32}}
  %0 = graph.round %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// C0
func.func @result_of_another_dtype(%x: tensor<2xf32>) {
  // expected-error @below {{'graph.relu' C0: expected result 0 of type tensor<2xf32>, found tensor<2xf64>}}
  %0 = graph.relu %x : tensor<2xf32> -> tensor<2xf64>
  func.return
}
