// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C0, the result
func.func @result(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C0: expected result 0 of type tensor<1x4x17x17xf32>, found tensor<1x4x16x16xf32>}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x16x16xf32>
  func.return
}

// -----

// C1, two dtypes
func.func @dtypes(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf64>) {
  // expected-error @below {{'graph.conv_transpose' C1: expected one dtype that is not bool, found f32, f64}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf64> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C1, bool
func.func @bools(%x: tensor<1x3x8x8xi1>, %w: tensor<3x4x3x3xi1>) {
  // expected-error @below {{'graph.conv_transpose' C1: expected one dtype that is not bool, found i1}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xi1>, tensor<3x4x3x3xi1> -> tensor<1x4x17x17xi1>
  func.return
}

// -----

// C1, the bias
func.func @bias_dtype(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{'graph.conv_transpose' C1: expected one dtype that is not bool, found f32, f64}}
  %0 = graph.conv_transpose %x, %w bias %b strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>, tensor<4xf64> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C2, two ranks
func.func @ranks(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C2: expected one rank of 3 or more, found shapes (1, 3, 8, 8) and (3, 4, 3)}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C2, no spatial dimension
func.func @no_space(%x: tensor<1x3xf32>, %w: tensor<3x4xf32>) {
  // expected-error @below {{'graph.conv_transpose' C2: expected one rank of 3 or more, found shapes (1, 3) and (3, 4)}}
  %0 = graph.conv_transpose %x, %w strides = [] pads = [] output_padding = [] dilations = [] groups = 1 : tensor<1x3xf32>, tensor<3x4xf32> -> tensor<1x4xf32>
  func.return
}

// -----

// C3, a stride
func.func @stride(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C3: expected 2 strides >= 1, found [0, 1]}}
  %0 = graph.conv_transpose %x, %w strides = [0, 1] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C3, how many strides
func.func @strides(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C3: expected 2 strides >= 1, found [1]}}
  %0 = graph.conv_transpose %x, %w strides = [1] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C3, a pad
func.func @pad(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C3: expected 4 pads >= 0, found [0, 0, 0, -1]}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, -1] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C3, a dilation
func.func @dilation(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C3: expected 2 dilations >= 1, found [1, 0]}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 0] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C3, the window
func.func @window(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x0x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C3: expected 2 window sizes >= 1, found [0, 3]}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x0x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C3, an output padding
func.func @output_padding(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C3: expected 2 output paddings from 0 to 2**31 - 1, found [0, -1]}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, -1] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C3, how many output paddings
func.func @output_paddings(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C3: expected 2 output paddings from 0 to 2**31 - 1, found [0, 0, 0]}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C3, a large output padding
func.func @large_output_padding(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C3: expected 2 output paddings from 0 to 2**31 - 1, found [0, 2147483648]}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 2147483648] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C4, no groups
func.func @no_groups(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C4: 3 channels and weights of shape (3, 4, 3, 3) do not make 0 groups}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 0 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C4, input channels
func.func @channels(%x: tensor<1x4x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C4: 4 channels and weights of shape (3, 4, 3, 3) do not make 1 groups}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x4x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C4, groups that do not divide
func.func @groups(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C4: 3 channels and weights of shape (3, 4, 3, 3) do not make 2 groups}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 2 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x17xf32>
  func.return
}

// -----

// C5, the bias has one number for each output of each group
func.func @bias(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'graph.conv_transpose' C5: expected a bias of shape (12,), found (4,)}}
  %0 = graph.conv_transpose %x, %w bias %b strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 3 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>, tensor<4xf32> -> tensor<1x12x17x17xf32>
  func.return
}

// -----

// C6
func.func @nothing_left(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C6: expected pads that leave outputs, found [17, 0] outputs}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 9, 0, 8] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x0xf32>
  func.return
}

// -----

// C7
func.func @no_pixel(%x: tensor<1x3x8x0xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C7: expected spatial sizes >= 1, found shape (1, 3, 8, 0)}}
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x0xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x17x1xf32>
  func.return
}

// -----

// C8: strides of 9 x 8
func.func @phases(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @below {{'graph.conv_transpose' C8: expected at most 64 phases of outputs, found 72}}
  %0 = graph.conv_transpose %x, %w strides = [9, 8] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32> -> tensor<1x4x66x59xf32>
  func.return
}
