// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C0, the result
func.func @result(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @below {{'graph.conv' C0: expected result 0 of type tensor<1x4x6x6xf32>, found tensor<1x4x8x8xf32>}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x8x8xf32>
  func.return
}

// -----

// C1, two dtypes
func.func @dtypes(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf64>) {
  // expected-error @below {{'graph.conv' C1: expected one dtype that is not bool, found f32, f64}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf64> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C1, bool
func.func @bools(%x: tensor<1x3x8x8xi1>, %w: tensor<4x3x3x3xi1>) {
  // expected-error @below {{'graph.conv' C1: expected one dtype that is not bool, found i1}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xi1>, tensor<4x3x3x3xi1> -> tensor<1x4x6x6xi1>
  func.return
}

// -----

// C1, the bias of narrow integers
func.func @narrow_bias(%x: tensor<1x3x8x8xui8>, %w: tensor<4x3x3x3xi8>, %b: tensor<4xi8>) {
  // expected-error @below {{'graph.conv' C1: expected factors of i8, ui8, i16, ui16 and a bias of i32, found i8, ui8}}
  %0 = graph.conv %x, %w bias %b strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 to = i32 : tensor<1x3x8x8xui8>, tensor<4x3x3x3xi8>, tensor<4xi8> -> tensor<1x4x6x6xi32>
  func.return
}

// -----

// C1, the bias
func.func @bias_dtype(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{'graph.conv' C1: expected one dtype that is not bool, found f32, f64}}
  %0 = graph.conv %x, %w bias %b strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf64> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C2, two ranks
func.func @ranks(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @below {{'graph.conv' C2: expected one rank of 3 or more, found shapes (1, 3, 8, 8) and (4, 3, 3)}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C2, no spatial dimension
func.func @no_space(%x: tensor<1x3xf32>, %w: tensor<4x3xf32>) {
  // expected-error @below {{'graph.conv' C2: expected one rank of 3 or more, found shapes (1, 3) and (4, 3)}}
  %0 = graph.conv %x, %w strides = [] pads = [] dilations = [] groups = 1 : tensor<1x3xf32>, tensor<4x3xf32> -> tensor<1x4xf32>
  func.return
}

// -----

// C3, a stride
func.func @stride(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @below {{'graph.conv' C3: expected 2 strides >= 1, found [0, 1]}}
  %0 = graph.conv %x, %w strides = [0, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C3, how many strides
func.func @strides(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @below {{'graph.conv' C3: expected 2 strides >= 1, found [1]}}
  %0 = graph.conv %x, %w strides = [1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C3, a pad
func.func @pad(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @below {{'graph.conv' C3: expected 4 pads >= 0, found [0, 0, 0, -1]}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, -1] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C3, how many pads
func.func @pads(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @below {{'graph.conv' C3: expected 4 pads >= 0, found [0, 0]}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C3, a dilation
func.func @dilation(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @below {{'graph.conv' C3: expected 2 dilations >= 1, found [1, 0]}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 0] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C3, the window
func.func @window(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x0x3xf32>) {
  // expected-error @below {{'graph.conv' C3: expected 2 window sizes >= 1, found [0, 3]}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x0x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C4, no groups
func.func @no_groups(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @below {{'graph.conv' C4: 3 channels and weights of shape (4, 3, 3, 3) do not make 0 groups}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 0 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C4, input channels
func.func @channels(%x: tensor<1x4x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @below {{'graph.conv' C4: 4 channels and weights of shape (4, 3, 3, 3) do not make 1 groups}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x4x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C4, output channels
func.func @out_channels(%x: tensor<1x9x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @below {{'graph.conv' C4: 9 channels and weights of shape (4, 3, 3, 3) do not make 3 groups}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 3 : tensor<1x9x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C5
func.func @bias(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{'graph.conv' C5: expected a bias of shape (4,), found (3,)}}
  %0 = graph.conv %x, %w bias %b strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// C6
func.func @too_small(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @below {{'graph.conv' C6: expected 9 or more with padding in spatial dimension 1, found 8}}
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 4] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}
