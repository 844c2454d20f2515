// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C0, the result
func.func @result(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @below {{'graph.gather' C0: expected result 0 of type tensor<4x3xf32>, found tensor<2x4xf32>}}
  %0 = graph.gather %x, %i axis = 0 : tensor<2x3xf32>, tensor<4xi64> -> tensor<2x4xf32>
  func.return
}

// -----

// C1
func.func @axis(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @below {{'graph.gather' C1: expected an axis of rank 2, found -1}}
  %0 = graph.gather %x, %i axis = -1 : tensor<2x3xf32>, tensor<4xi64> -> tensor<2x4xf32>
  func.return
}

// -----

// C2
func.func @indices(%x: tensor<2x3xf32>, %i: tensor<4xf32>) {
  // expected-error @below {{'graph.gather' C2: expected indices of i32 or i64, found f32}}
  %0 = graph.gather %x, %i axis = 1 : tensor<2x3xf32>, tensor<4xf32> -> tensor<2x4xf32>
  func.return
}

// -----

// C3: there is no nearest element
func.func @nothing(%x: tensor<2x0xf32>, %i: tensor<4xi64>) {
  // expected-error @below {{'graph.gather' C3: expected an element along axis 1 to pick, found none}}
  %0 = graph.gather %x, %i axis = 1 : tensor<2x0xf32>, tensor<4xi64> -> tensor<2x4xf32>
  func.return
}
