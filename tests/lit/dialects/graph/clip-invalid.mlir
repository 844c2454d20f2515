// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1
func.func @bools(%x: tensor<2xi1>) {
  // expected-error @below {{'graph.clip' C1: expected a float or integer dtype, found i1}}
  %0 = graph.clip %x : tensor<2xi1> -> tensor<2xi1>
  func.return
}

// -----

// C2
func.func @limit_that_is_not_finite(%x: tensor<2xf32>) {
  // expected-error @below {{'graph.clip' C2: expected a finite high, found inf; leave it out for none}}
  %0 = "graph.clip"(%x) <{high = 0x7FF0000000000000 : f64}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// C3
func.func @fraction_on_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.clip' C3: expected a low that is a value of i32, found 0.5}}
  %0 = graph.clip %x low = 0.5 : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// C3
func.func @limit_outside_the_dtype(%x: tensor<2xui8>) {
  // expected-error @below {{'graph.clip' C3: expected a low that is a value of ui8, found -1.0}}
  %0 = graph.clip %x low = -1.0 : tensor<2xui8> -> tensor<2xui8>
  func.return
}

// -----

// C3
func.func @limit_above_the_dtype(%x: tensor<2xi8>) {
  // expected-error @below {{'graph.clip' C3: expected a high that is a value of i8, found 128.0}}
  %0 = graph.clip %x high = 128.0 : tensor<2xi8> -> tensor<2xi8>
  func.return
}
