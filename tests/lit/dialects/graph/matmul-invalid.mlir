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
  // expected-error @below {{'graph.matmul' C1: expected one dtype that is not bool, found f32, f64}}
  %0 = graph.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xf64> -> tensor<2x4xf32>
  func.return
}

// -----

// C1, bool
func.func @bools(%x: tensor<2x3xi1>, %y: tensor<3x4xi1>) {
  // expected-error @below {{'graph.matmul' C1: expected one dtype that is not bool, found i1}}
  %0 = graph.matmul %x, %y : tensor<2x3xi1>, tensor<3x4xi1> -> tensor<2x4xi1>
  func.return
}

// -----

// C1, what narrow integers are summed up in
func.func @wide(%x: tensor<2x3xui8>, %y: tensor<3x4xi8>) {
  // expected-error @below {{'graph.matmul' C1: expected to = i32 or f32, found i64}}
  %0 = graph.matmul %x, %y to = i64 : tensor<2x3xui8>, tensor<3x4xi8> -> tensor<2x4xi64>
  func.return
}

// -----

// C1, factors that are not narrow
func.func @factors(%x: tensor<2x3xi32>, %y: tensor<3x4xi8>) {
  // expected-error @below {{'graph.matmul' C1: expected factors of i8, ui8, i16, ui16, found i32, i8}}
  %0 = graph.matmul %x, %y to = i32 : tensor<2x3xi32>, tensor<3x4xi8> -> tensor<2x4xi32>
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

// -----

// C1, factors that are not computed with in f32
func.func @doubles(%x: tensor<2x3xf32>, %y: tensor<3x4xf64>) {
  // expected-error @below {{'graph.matmul' C1: expected factors of f32 and floats that are computed with in it, found f32, f64}}
  %0 = graph.matmul %x, %y to = f32 : tensor<2x3xf32>, tensor<3x4xf64> -> tensor<2x4xf32>
  func.return
}
