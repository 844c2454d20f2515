// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// tan, C1
func.func @tan_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.tan' C1: expected a float dtype, found i32}}
  %0 = graph.tan %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// asin, C1
func.func @asin_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.asin' C1: expected a float dtype, found i32}}
  %0 = graph.asin %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// acos, C1
func.func @acos_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.acos' C1: expected a float dtype, found i32}}
  %0 = graph.acos %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// atan, C1
func.func @atan_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.atan' C1: expected a float dtype, found i32}}
  %0 = graph.atan %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// sinh, C1
func.func @sinh_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.sinh' C1: expected a float dtype, found i32}}
  %0 = graph.sinh %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// cosh, C1
func.func @cosh_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.cosh' C1: expected a float dtype, found i32}}
  %0 = graph.cosh %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// asinh, C1
func.func @asinh_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.asinh' C1: expected a float dtype, found i32}}
  %0 = graph.asinh %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// acosh, C1
func.func @acosh_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.acosh' C1: expected a float dtype, found i32}}
  %0 = graph.acosh %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// atanh, C1
func.func @atanh_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.atanh' C1: expected a float dtype, found i32}}
  %0 = graph.atanh %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}
