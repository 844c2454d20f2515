// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// cumsum, C0, another shape
func.func @sum_result(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.cumsum' C0: expected result 0 of type tensor<2x3xf32>, found tensor<3xf32>}}
  %0 = graph.cumsum %x axis = 1 : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----

// cumsum, C0, a layout
func.func @sum_layout(%x: tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>>) {
  // expected-error @below {{'graph.cumsum' C0: expected row-major tensors only, found tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>>}}
  %0 = graph.cumsum %x axis = 1 : tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>> -> tensor<2x8xf32>
  func.return
}

// -----

// cumsum, C1
func.func @sum_bools(%x: tensor<2x3xi1>) {
  // expected-error @below {{'graph.cumsum' C1: expected a float or integer dtype, found i1}}
  %0 = graph.cumsum %x axis = 1 : tensor<2x3xi1> -> tensor<2x3xi1>
  func.return
}

// -----

// cumsum, C2
func.func @sum_axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.cumsum' C2: expected an axis of a tensor of rank 2, found 2}}
  %0 = graph.cumsum %x axis = 2 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// cumsum, C2, too far from the end
func.func @sum_negative_axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.cumsum' C2: expected an axis of a tensor of rank 2, found -3}}
  %0 = graph.cumsum %x axis = -3 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// cumsum, C2, a scalar has none
func.func @sum_scalar(%x: tensor<f32>) {
  // expected-error @below {{'graph.cumsum' C2: expected an axis of a tensor of rank 0, found 0}}
  %0 = graph.cumsum %x axis = 0 : tensor<f32> -> tensor<f32>
  func.return
}

// -----

// cumprod, C0, another shape
func.func @prod_result(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.cumprod' C0: expected result 0 of type tensor<2x3xf32>, found tensor<3xf32>}}
  %0 = graph.cumprod %x axis = 1 : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----

// cumprod, C0, a layout
func.func @prod_layout(%x: tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>>) {
  // expected-error @below {{'graph.cumprod' C0: expected row-major tensors only, found tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>>}}
  %0 = graph.cumprod %x axis = 1 : tensor<2x8xf32, #graph.layout<block = [0, 4], halo = []>> -> tensor<2x8xf32>
  func.return
}

// -----

// cumprod, C1
func.func @prod_bools(%x: tensor<2x3xi1>) {
  // expected-error @below {{'graph.cumprod' C1: expected a float or integer dtype, found i1}}
  %0 = graph.cumprod %x axis = 1 : tensor<2x3xi1> -> tensor<2x3xi1>
  func.return
}

// -----

// cumprod, C2
func.func @prod_axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.cumprod' C2: expected an axis of a tensor of rank 2, found 2}}
  %0 = graph.cumprod %x axis = 2 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// cumprod, C2, too far from the end
func.func @prod_negative_axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.cumprod' C2: expected an axis of a tensor of rank 2, found -3}}
  %0 = graph.cumprod %x axis = -3 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// cumprod, C2, a scalar has none
func.func @prod_scalar(%x: tensor<f32>) {
  // expected-error @below {{'graph.cumprod' C2: expected an axis of a tensor of rank 0, found 0}}
  %0 = graph.cumprod %x axis = 0 : tensor<f32> -> tensor<f32>
  func.return
}
