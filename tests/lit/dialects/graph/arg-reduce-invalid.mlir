// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// argmax, C0, another dtype
func.func @argmax_result(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.argmax' C0: expected result 0 of type tensor<2xi64>, found tensor<2xf32>}}
  %0 = graph.argmax %x axis = 1 : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// argmax, C0, a layout
func.func @argmax_layout(%x: tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>>) {
  // expected-error @below {{'graph.argmax' C0: expected row-major tensors only, found tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>>}}
  %0 = graph.argmax %x axis = 1 : tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>> -> tensor<2xi64>
  func.return
}

// -----

// argmax, C1
func.func @argmax_bools(%x: tensor<2x3xi1>) {
  // expected-error @below {{'graph.argmax' C1: expected a float or integer dtype, found i1}}
  %0 = graph.argmax %x axis = 1 : tensor<2x3xi1> -> tensor<2xi64>
  func.return
}

// -----

// argmax, C2
func.func @argmax_axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.argmax' C2: expected an axis of a tensor of rank 2, found 2}}
  %0 = graph.argmax %x axis = 2 : tensor<2x3xf32> -> tensor<2xi64>
  func.return
}

// -----

// argmax, C2, too far from the end; a scalar has none
func.func @argmax_negative_axis(%x: tensor<2x3xf32>, %s: tensor<f32>) {
  // expected-error @below {{'graph.argmax' C2: expected an axis of a tensor of rank 2, found -3}}
  %0 = graph.argmax %x axis = -3 : tensor<2x3xf32> -> tensor<2xi64>
  // expected-error @below {{'graph.argmax' C2: expected an axis of a tensor of rank 0, found 0}}
  %1 = graph.argmax %s axis = 0 : tensor<f32> -> tensor<i64>
  func.return
}

// -----

// argmax, C3
func.func @argmax_of_none(%x: tensor<2x0xf32>) {
  // expected-error @below {{'graph.argmax' C3: expected elements along axis -1, found shape (2, 0)}}
  %0 = graph.argmax %x axis = -1 : tensor<2x0xf32> -> tensor<2xi64>
  func.return
}

// -----

// argmin, C0, another dtype
func.func @argmin_result(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.argmin' C0: expected result 0 of type tensor<2xi64>, found tensor<2xf32>}}
  %0 = graph.argmin %x axis = 1 : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// argmin, C0, a layout
func.func @argmin_layout(%x: tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>>) {
  // expected-error @below {{'graph.argmin' C0: expected row-major tensors only, found tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>>}}
  %0 = graph.argmin %x axis = 1 : tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>> -> tensor<2xi64>
  func.return
}

// -----

// argmin, C1
func.func @argmin_bools(%x: tensor<2x3xi1>) {
  // expected-error @below {{'graph.argmin' C1: expected a float or integer dtype, found i1}}
  %0 = graph.argmin %x axis = 1 : tensor<2x3xi1> -> tensor<2xi64>
  func.return
}

// -----

// argmin, C2
func.func @argmin_axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.argmin' C2: expected an axis of a tensor of rank 2, found 2}}
  %0 = graph.argmin %x axis = 2 : tensor<2x3xf32> -> tensor<2xi64>
  func.return
}

// -----

// argmin, C2, too far from the end; a scalar has none
func.func @argmin_negative_axis(%x: tensor<2x3xf32>, %s: tensor<f32>) {
  // expected-error @below {{'graph.argmin' C2: expected an axis of a tensor of rank 2, found -3}}
  %0 = graph.argmin %x axis = -3 : tensor<2x3xf32> -> tensor<2xi64>
  // expected-error @below {{'graph.argmin' C2: expected an axis of a tensor of rank 0, found 0}}
  %1 = graph.argmin %s axis = 0 : tensor<f32> -> tensor<i64>
  func.return
}

// -----

// argmin, C3
func.func @argmin_of_none(%x: tensor<2x0xf32>) {
  // expected-error @below {{'graph.argmin' C3: expected elements along axis -1, found shape (2, 0)}}
  %0 = graph.argmin %x axis = -1 : tensor<2x0xf32> -> tensor<2xi64>
  func.return
}
