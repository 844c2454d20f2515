// RUN: inarch-opt %s --split-input-file --verify-diagnostics

func.func @indices(%d: tensor<3x4xf32>, %i: tensor<2x4xf32>, %u: tensor<2x4xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{C1: expected indices of i32 or i64, found f32}}
  %y = graph.scatter_elements %d, %i, %u axis = 0 : tensor<3x4xf32>, tensor<2x4xf32>, tensor<2x4xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

func.func @dtypes(%d: tensor<3x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xi64>) -> tensor<3x4xf32> {
  // expected-error @below {{C2: expected updates of f32, found i64}}
  %y = graph.scatter_elements %d, %i, %u axis = 0 : tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xi64> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

func.func @reduction(%d: tensor<3x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{C3: expected a reduction of none, add, mul, max, min, found sum}}
  %y = graph.scatter_elements %d, %i, %u axis = 0 reduction = "sum" : tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

func.func @bools(%d: tensor<3xi1>, %i: tensor<2x1xi64>, %u: tensor<2xi1>) -> tensor<3xi1> {
  // expected-error @below {{C3: expected no reduction of bools, found max}}
  %y = graph.scatter_nd %d, %i, %u reduction = "max" : tensor<3xi1>, tensor<2x1xi64>, tensor<2xi1> -> tensor<3xi1>
  func.return %y : tensor<3xi1>
}

// -----

func.func @axis(%d: tensor<3x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{C4: expected an axis of rank 2, found 2}}
  %y = graph.scatter_elements %d, %i, %u axis = 2 : tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

func.func @scalar(%d: tensor<f32>, %i: tensor<i64>, %u: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{C4: expected an axis of rank 0, found 0}}
  %y = graph.scatter_elements %d, %i, %u axis = 0 : tensor<f32>, tensor<i64>, tensor<f32> -> tensor<f32>
  func.return %y : tensor<f32>
}

// -----

func.func @shapes(%d: tensor<3x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x3xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{C5: expected updates of the shape of indices, (2, 4), found (2, 3)}}
  %y = graph.scatter_elements %d, %i, %u axis = 0 : tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x3xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

func.func @ranks(%d: tensor<3x4xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{C5: expected indices within (3, 4) but for axis 0, found shape (2,)}}
  %y = graph.scatter_elements %d, %i, %u axis = 0 : tensor<3x4xf32>, tensor<2xi64>, tensor<2xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

func.func @too_wide(%d: tensor<3x4xf32>, %i: tensor<2x5xi64>, %u: tensor<2x5xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{C5: expected indices within (3, 4) but for axis 0, found shape (2, 5)}}
  %y = graph.scatter_elements %d, %i, %u axis = 0 : tensor<3x4xf32>, tensor<2x5xi64>, tensor<2x5xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

func.func @no_rows(%d: tensor<3x4xf32>, %i: tensor<i64>, %u: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{C4: expected rows of 1 to 2 indices, found shape ()}}
  %y = graph.scatter_nd %d, %i, %u : tensor<3x4xf32>, tensor<i64>, tensor<3x4xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

func.func @long_rows(%d: tensor<3x4xf32>, %i: tensor<5x3xi64>, %u: tensor<5xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{C4: expected rows of 1 to 2 indices, found shape (5, 3)}}
  %y = graph.scatter_nd %d, %i, %u : tensor<3x4xf32>, tensor<5x3xi64>, tensor<5xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

func.func @slices(%d: tensor<3x4xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{C5: expected updates of shape (5, 4), found (5, 3)}}
  %y = graph.scatter_nd %d, %i, %u : tensor<3x4xf32>, tensor<5x1xi64>, tensor<5x3xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
