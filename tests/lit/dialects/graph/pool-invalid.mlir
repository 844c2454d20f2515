// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// max_pool, C0, the result
func.func @max_pool_result(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.max_pool' C0: expected result 0 of type tensor<1x4x3x3xf32>, found tensor<1x4x4x4xf32>}}
  %0 = graph.max_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x4x4xf32>
  func.return
}

// -----

// max_pool, C1
func.func @max_pool_dtype(%x: tensor<1x4x7x7xi1>) {
  // expected-error @below {{'graph.max_pool' C1: expected a float or integer dtype, found i1}}
  %0 = graph.max_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xi1> -> tensor<1x4x3x3xi1>
  func.return
}

// -----

// max_pool, C2
func.func @max_pool_rank(%x: tensor<4x7xf32>) {
  // expected-error @below {{'graph.max_pool' C2: expected a rank of 3 or more, found shape (4, 7)}}
  %0 = graph.max_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<4x7xf32> -> tensor<4x3xf32>
  func.return
}

// -----

// max_pool, C3, a window
func.func @max_pool_window(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.max_pool' C3: expected 2 window sizes >= 1, found [0, 2]}}
  %0 = graph.max_pool %x window = [0, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// max_pool, C3, how many
func.func @max_pool_windows(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.max_pool' C3: expected 2 window sizes >= 1, found [2]}}
  %0 = graph.max_pool %x window = [2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// max_pool, C3, a stride
func.func @max_pool_stride(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.max_pool' C3: expected 2 strides >= 1, found [2, 0]}}
  %0 = graph.max_pool %x window = [2, 2] strides = [2, 0] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// max_pool, C3, a pad
func.func @max_pool_pad(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.max_pool' C3: expected 4 pads >= 0, found [-1, 0, 0, 0]}}
  %0 = graph.max_pool %x window = [2, 2] strides = [2, 2] pads = [-1, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// max_pool, C3, a dilation
func.func @max_pool_dilation(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.max_pool' C3: expected 2 dilations >= 1, found [0, 1]}}
  %0 = graph.max_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [0, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// max_pool, C4
func.func @max_pool_too_small(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.max_pool' C4: expected 8 or more with padding in spatial dimension 1, found 7}}
  %0 = graph.max_pool %x window = [2, 8] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// max_pool, C5
func.func @max_pool_only_padding(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.max_pool' C5: expected elements of x in every window, found none in spatial dimension 1}}
  %0 = graph.max_pool %x window = [2, 2] strides = [2, 2] pads = [0, 2, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// avg_pool, C0, the result
func.func @avg_pool_result(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.avg_pool' C0: expected result 0 of type tensor<1x4x3x3xf32>, found tensor<1x4x4x4xf32>}}
  %0 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x4x4xf32>
  func.return
}

// -----

// avg_pool, C1
func.func @avg_pool_dtype(%x: tensor<1x4x7x7xi1>) {
  // expected-error @below {{'graph.avg_pool' C1: expected a float dtype, found i1}}
  %0 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xi1> -> tensor<1x4x3x3xi1>
  func.return
}

// -----

// avg_pool, C2
func.func @avg_pool_rank(%x: tensor<4x7xf32>) {
  // expected-error @below {{'graph.avg_pool' C2: expected a rank of 3 or more, found shape (4, 7)}}
  %0 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<4x7xf32> -> tensor<4x3xf32>
  func.return
}

// -----

// avg_pool, C3, a window
func.func @avg_pool_window(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.avg_pool' C3: expected 2 window sizes >= 1, found [0, 2]}}
  %0 = graph.avg_pool %x window = [0, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// avg_pool, C3, how many
func.func @avg_pool_windows(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.avg_pool' C3: expected 2 window sizes >= 1, found [2]}}
  %0 = graph.avg_pool %x window = [2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// avg_pool, C3, a stride
func.func @avg_pool_stride(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.avg_pool' C3: expected 2 strides >= 1, found [2, 0]}}
  %0 = graph.avg_pool %x window = [2, 2] strides = [2, 0] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// avg_pool, C3, a pad
func.func @avg_pool_pad(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.avg_pool' C3: expected 4 pads >= 0, found [-1, 0, 0, 0]}}
  %0 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [-1, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// avg_pool, C3, a dilation
func.func @avg_pool_dilation(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.avg_pool' C3: expected 2 dilations >= 1, found [0, 1]}}
  %0 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [0, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// avg_pool, C4
func.func @avg_pool_too_small(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.avg_pool' C4: expected 8 or more with padding in spatial dimension 1, found 7}}
  %0 = graph.avg_pool %x window = [2, 8] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// avg_pool, C5
func.func @avg_pool_only_padding(%x: tensor<1x4x7x7xf32>) {
  // expected-error @below {{'graph.avg_pool' C5: expected elements of x in every window, found none in spatial dimension 1}}
  %0 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 2, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// -----

// avg_pool, C1, integers
func.func @avg_pool_integers(%x: tensor<1x4x7x7xi32>) {
  // expected-error @below {{'graph.avg_pool' C1: expected a float dtype, found i32}}
  %0 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xi32> -> tensor<1x4x3x3xi32>
  func.return
}
