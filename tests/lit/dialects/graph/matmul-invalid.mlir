// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C0, a dynamic shape
func.func @dynamic(%x: tensor<?x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{'graph.matmul' C0: expected a static shape, found tensor<?x3xf32>}}
  %0 = graph.matmul %x, %y : tensor<?x3xf32>, tensor<3x4xf32> -> tensor<?x4xf32>
  func.return
}

// -----

// C0, the result
func.func @result(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{'graph.matmul' C0: expected result 0 of type tensor<2x4xf32>, found tensor<2x5xf32>}}
  %0 = graph.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x5xf32>
  func.return
}

// -----

// C1, two dtypes
func.func @dtypes(%x: tensor<2x3xf32>, %y: tensor<3x4xf64>) {
  // expected-error @below {{'graph.matmul' C1: expected one dtype that is not bool, found f32 and f64}}
  %0 = graph.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xf64> -> tensor<2x4xf32>
  func.return
}

// -----

// C1, bool
func.func @bools(%x: tensor<2x3xi1>, %y: tensor<3x4xi1>) {
  // expected-error @below {{'graph.matmul' C1: expected one dtype that is not bool, found i1 and i1}}
  %0 = graph.matmul %x, %y : tensor<2x3xi1>, tensor<3x4xi1> -> tensor<2x4xi1>
  func.return
}

// -----

// C2
func.func @vector(%x: tensor<3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{'graph.matmul' C2: expected shapes of rank 2 or more, found (3,) and (3, 4)}}
  %0 = graph.matmul %x, %y : tensor<3xf32>, tensor<3x4xf32> -> tensor<4xf32>
  func.return
}

// -----

// C3
func.func @depth(%x: tensor<2x3xf32>, %y: tensor<4x4xf32>) {
  // expected-error @below {{'graph.matmul' C3: expected 3 rows in the second operand, found 4}}
  %0 = graph.matmul %x, %y : tensor<2x3xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  func.return
}

// -----

// C4
func.func @batch(%x: tensor<2x2x3xf32>, %y: tensor<3x3x4xf32>) {
  // expected-error @below {{'graph.matmul' C4: batch dimensions (2,) and (3,) do not broadcast}}
  %0 = graph.matmul %x, %y : tensor<2x2x3xf32>, tensor<3x3x4xf32> -> tensor<2x2x4xf32>
  func.return
}
