// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// layer_norm, C1
func.func @layer_norm_of_integers(%x: tensor<2x3xi32>, %s: tensor<3xi32>) {
  // expected-error @below {{'graph.layer_norm' C1: expected one float dtype, found i32, i32}}
  %0 = graph.layer_norm %x, %s axis = -1 epsilon = 1.000000e-05 : tensor<2x3xi32>, tensor<3xi32> -> tensor<2x3xi32>
  func.return
}

// -----

// layer_norm, C1
func.func @layer_norm_of_two_dtypes(%x: tensor<2x3xf32>, %s: tensor<3xf64>) {
  // expected-error @below {{'graph.layer_norm' C1: expected one float dtype, found f32, f64}}
  %0 = graph.layer_norm %x, %s axis = -1 epsilon = 1.000000e-05 : tensor<2x3xf32>, tensor<3xf64> -> tensor<2x3xf32>
  func.return
}

// -----

// layer_norm, C2
func.func @layer_norm_of_no_axis(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error @below {{'graph.layer_norm' C2: expected an axis of a tensor of rank 2, found -3}}
  %0 = graph.layer_norm %x, %s axis = -3 epsilon = 1.000000e-05 : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// layer_norm, C3
func.func @layer_norm_with_a_scale_of_another_shape(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @below {{'graph.layer_norm' C3: expected a scale that broadcasts to (3,), found (2,)}}
  %0 = graph.layer_norm %x, %s axis = -1 epsilon = 1.000000e-05 : tensor<2x3xf32>, tensor<2xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// layer_norm, C3
func.func @layer_norm_with_a_bias_of_too_many_dims(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %b: tensor<2x3xf32>) {
  // expected-error @below {{'graph.layer_norm' C3: expected a bias that broadcasts to (3,), found (2, 3)}}
  %0 = graph.layer_norm %x, %s, %b axis = -1 epsilon = 1.000000e-05 : tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// layer_norm, C4
func.func @layer_norm_with_a_negative_epsilon(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error @below {{'graph.layer_norm' C4: expected epsilon >= 0 and finite, found -1.0}}
  %0 = graph.layer_norm %x, %s axis = -1 epsilon = -1.0 : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// batch_norm, C1
func.func @batch_norm_of_two_dtypes(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf64>, %v: tensor<3xf32>) {
  // expected-error @below {{'graph.batch_norm' C1: expected one float dtype, found f32, f32, f32, f64, f32}}
  %0 = graph.batch_norm %x, %s, %b, %m, %v epsilon = 1.000000e-05 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf64>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// batch_norm, C2
func.func @batch_norm_of_a_vector(%x: tensor<3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @below {{'graph.batch_norm' C2: expected x of rank 2 or more, found shape (3,)}}
  %0 = graph.batch_norm %x, %s, %b, %m, %v epsilon = 1.000000e-05 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// batch_norm, C3
func.func @batch_norm_with_a_var_of_another_shape(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<2xf32>) {
  // expected-error @below {{'graph.batch_norm' C3: expected var of shape (3,), found (2,)}}
  %0 = graph.batch_norm %x, %s, %b, %m, %v epsilon = 1.000000e-05 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// batch_norm, C4
func.func @batch_norm_with_a_negative_epsilon(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) {
  // expected-error @below {{'graph.batch_norm' C4: expected epsilon >= 0 and finite, found -1.0}}
  %0 = graph.batch_norm %x, %s, %b, %m, %v epsilon = -1.0 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}
