// RUN: inarch-opt %s --split-input-file -p choose-layout | filecheck %s
// RUN: inarch-opt %s --split-input-file -p 'choose-layout{always=true}' | filecheck %s --check-prefix ALWAYS

// From the first convolution, which reads the image as it is, to the global pool, all are blocked: no
// relayout. Weights and biases stay as they are. What a padded window reads has a halo of zeros.
builtin.module attributes {inarch.target = "x86-64-v4"} {
  // CHECK-LABEL: @residual_network
  // CHECK-NOT:   graph.relayout
  func.func @residual_network(%x: tensor<1x3x32x32xf32>, %w: tensor<32x3x3x3xf32>, %v: tensor<32x32x3x3xf32>, %b: tensor<1x32x1x1xf32>) -> tensor<1x32xf32> {
    // CHECK: graph.conv %x, %w {{.*}} : tensor<1x3x32x32xf32>, tensor<32x3x3x3xf32> -> tensor<1x32x30x30xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x32x32xf32>, tensor<32x3x3x3xf32> -> tensor<1x32x30x30xf32>
    // CHECK: graph.max_pool {{.*}} : tensor<1x32x30x30xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>> -> tensor<1x32x15x15xf32, #graph.layout<block = [0, 16, 0, 0], halo = [1, 1, 1, 1]>>
    %1 = graph.max_pool %0 window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x32x30x30xf32> -> tensor<1x32x15x15xf32>
    // CHECK: graph.conv {{.*}} : tensor<1x32x15x15xf32, #graph.layout<block = [0, 16, 0, 0], halo = [1, 1, 1, 1]>>, tensor<32x32x3x3xf32> -> tensor<1x32x15x15xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
    %2 = graph.conv %1, %v strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x32x15x15xf32>, tensor<32x32x3x3xf32> -> tensor<1x32x15x15xf32>
    // CHECK: graph.add %{{.*}}, %b : tensor<1x32x15x15xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>, tensor<1x32x1x1xf32> ->
    %3 = graph.add %2, %b : tensor<1x32x15x15xf32>, tensor<1x32x1x1xf32> -> tensor<1x32x15x15xf32>
    // CHECK: graph.add {{.*}}-> tensor<1x32x15x15xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
    %4 = graph.add %3, %1 : tensor<1x32x15x15xf32>, tensor<1x32x15x15xf32> -> tensor<1x32x15x15xf32>
    // CHECK: graph.reduce_mean {{.*}} : tensor<1x32x15x15xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>> -> tensor<1x32xf32>
    %5 = graph.reduce_mean %4 axes = [2, 3] : tensor<1x32x15x15xf32> -> tensor<1x32xf32>
    func.return %5 : tensor<1x32xf32>
  }
}

// -----

// A small convolution alone costs less than two relayouts; when it does not count, there is one on
// either side. The result is row-major again, and the block is that of the target's vectors.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  // CHECK-LABEL: @alone
  // CHECK-NOT:   #graph.layout
  // CHECK:       func.return
  // ALWAYS-LABEL: @alone
  func.func @alone(%x: tensor<1x8x14x14xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x14x14xf32> {
    // ALWAYS: %[[X:.*]] = graph.relayout %x : tensor<1x8x14x14xf32> -> tensor<1x8x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    // ALWAYS-NEXT: %[[Y:.*]] = graph.conv %[[X]], %w
    // ALWAYS-NEXT: %[[Z:.*]] = graph.relayout %[[Y]] : tensor<1x8x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>> -> tensor<1x8x14x14xf32>
    // ALWAYS-NEXT: func.return %[[Z]]
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x8x14x14xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x14x14xf32>
    func.return %0 : tensor<1x8x14x14xf32>
  }
}

// -----

// A value that several ops need otherwise is changed once.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  // ALWAYS-LABEL: @once
  func.func @once(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> (tensor<1x8x4x4xf32>, tensor<8x16xf32>) {
    // ALWAYS-COUNT-2: graph.relayout
    // ALWAYS-NOT: graph.relayout
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x4x4xf32>
    %1 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x4x4xf32>
    %2 = graph.add %0, %1 : tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32> -> tensor<1x8x4x4xf32>
    %3 = graph.reshape %2 shape = [8, 16] : tensor<1x8x4x4xf32> -> tensor<8x16xf32>
    func.return %2, %3 : tensor<1x8x4x4xf32>, tensor<8x16xf32>
  }
}

// -----

// Depthwise, a slice and a concatenation of whole blocks, and a gate of one number a channel.
builtin.module attributes {inarch.target = "x86-64-v2"} {
  // ALWAYS-LABEL: @spreads
  // ALWAYS: graph.relayout %x
  // ALWAYS-NOT: graph.relayout
  func.func @spreads(%x: tensor<1x8x4x4xf32>) -> tensor<1x12xf32> {
    %w = graph.constant dense<0.5> : tensor<8x1x3x3xf32>
    %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 8 : tensor<1x8x4x4xf32>, tensor<8x1x3x3xf32> -> tensor<1x8x4x4xf32>
    %1 = graph.slice %0 starts = [0, 4, 0, 0] sizes = [1, 4, 4, 4] steps = [1, 1, 1, 1] : tensor<1x8x4x4xf32> -> tensor<1x4x4x4xf32>
    // ALWAYS: graph.concat {{.*}} -> tensor<1x12x4x4xf32, #graph.layout<block = [0, 4, 0, 0], halo = []>>
    %2 = graph.concat %0, %1 axis = 1 : tensor<1x8x4x4xf32>, tensor<1x4x4x4xf32> -> tensor<1x12x4x4xf32>
    // ALWAYS: graph.reduce_mean {{.*}} -> tensor<1x12x1x1xf32>
    %3 = graph.reduce_mean %2 axes = [2, 3] keepdims = true : tensor<1x12x4x4xf32> -> tensor<1x12x1x1xf32>
    // ALWAYS: graph.mul {{.*}}, tensor<1x12x1x1xf32> -> tensor<1x12x4x4xf32, #graph.layout<block = [0, 4, 0, 0], halo = []>>
    %4 = graph.mul %2, %3 : tensor<1x12x4x4xf32>, tensor<1x12x1x1xf32> -> tensor<1x12x4x4xf32>
    %5 = graph.reduce_max %4 axes = [2, 3] : tensor<1x12x4x4xf32> -> tensor<1x12xf32>
    func.return %5 : tensor<1x12xf32>
  }
}

// -----

// What mixes channels or moves them gets row-major tensors; so does another dtype.
builtin.module attributes {inarch.target = "x86-64-v2"} {
  // ALWAYS-LABEL: @stops
  func.func @stops(%x: tensor<1x4x4x4xf32>, %w: tensor<4x4x1x1xf32>, %d: tensor<1x4x4x4xf64>, %v: tensor<4x4x1x1xf64>) -> (tensor<1x4x4xf32>, tensor<1x4x4x4xf64>) {
    // ALWAYS: graph.conv %d, %v {{.*}} -> tensor<1x4x4x4xf64>
    %0 = graph.conv %d, %v strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x4x4x4xf64>, tensor<4x4x1x1xf64> -> tensor<1x4x4x4xf64>
    // ALWAYS: graph.conv
    // ALWAYS-NEXT: %[[R:.*]] = graph.relayout {{.*}} -> tensor<1x4x4x4xf32>
    // ALWAYS-NEXT: graph.reduce_max %[[R]] {{.*}} -> tensor<1x4x4xf32>
    %1 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x4x4xf32>
    %2 = graph.reduce_max %1 axes = [1] : tensor<1x4x4x4xf32> -> tensor<1x4x4xf32>
    func.return %2, %0 : tensor<1x4x4xf32>, tensor<1x4x4x4xf64>
  }
}

// -----

// Nothing is known of the vectors of `generic`.
builtin.module attributes {inarch.target = "generic"} {
  // ALWAYS-LABEL: @generic
  // ALWAYS-NOT: #graph.layout
  func.func @generic(%x: tensor<1x16x4x4xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<1x16x2x2xf32> {
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x16x4x4xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x2x2xf32>
    func.return %0 : tensor<1x16x2x2xf32>
  }
}

// -----

// Blocks that do not divide the channels: up to a third more is filled up, with constant weights and
// ops that give 0 for 0. A sigmoid does not, and gets a row-major tensor.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  // ALWAYS-LABEL: @filled_up
  func.func @filled_up(%x: tensor<1x3x8x8xf32>) -> tensor<1x12x4x4xf32> {
    %w = graph.constant dense<0.5> : tensor<12x3x3x3xf32>
    %d = graph.constant dense<0.5> : tensor<12x1x3x3xf32>
    // ALWAYS: graph.conv %x, %w {{.*}} : tensor<1x3x8x8xf32>, {{.*}} -> tensor<1x12x8x8xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<12x3x3x3xf32> -> tensor<1x12x8x8xf32>
    // ALWAYS-NOT: graph.relayout
    // ALWAYS: graph.clip {{.*}} -> tensor<1x12x8x8xf32, #graph.layout<block = [0, 8, 0, 0], halo = [1, 1, 0, 0]>>
    %1 = graph.clip %0 low = 0.0 high = 6.0 : tensor<1x12x8x8xf32> -> tensor<1x12x8x8xf32>
    // ALWAYS: graph.conv {{.*}} -> tensor<1x12x4x4xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    %2 = graph.conv %1, %d strides = [2, 2] pads = [1, 1, 0, 0] dilations = [1, 1] groups = 12 : tensor<1x12x8x8xf32>, tensor<12x1x3x3xf32> -> tensor<1x12x4x4xf32>
    // ALWAYS: %[[R:.*]] = graph.relayout
    // ALWAYS: graph.sigmoid %[[R]] : tensor<1x12x4x4xf32> -> tensor<1x12x4x4xf32>
    %3 = graph.sigmoid %2 : tensor<1x12x4x4xf32> -> tensor<1x12x4x4xf32>
    func.return %3 : tensor<1x12x4x4xf32>
  }

  // Weights that are not known cannot be filled up, nor laid out by lanes (depthwise); 10 channels in
  // 16 would be too many.
  // ALWAYS-LABEL: @not_filled_up
  // ALWAYS-NOT: #graph.layout
  // ALWAYS: func.return
  func.func @not_filled_up(%x: tensor<1x8x4x4xf32>, %w: tensor<12x8x1x1xf32>) -> tensor<1x10x4x4xf32> {
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x8x4x4xf32>, tensor<12x8x1x1xf32> -> tensor<1x12x4x4xf32>
    %v = graph.constant dense<0.5> : tensor<10x12x1x1xf32>
    %1 = graph.conv %0, %v strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x12x4x4xf32>, tensor<10x12x1x1xf32> -> tensor<1x10x4x4xf32>
    func.return %1 : tensor<1x10x4x4xf32>
  }

  // ALWAYS-LABEL: @depthwise
  // ALWAYS-NOT: #graph.layout
  // ALWAYS: func.return
  func.func @depthwise(%x: tensor<1x8x4x4xf32>, %w: tensor<8x1x1x1xf32>) -> tensor<1x8x4x4xf32> {
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 8 : tensor<1x8x4x4xf32>, tensor<8x1x1x1xf32> -> tensor<1x8x4x4xf32>
    func.return %0 : tensor<1x8x4x4xf32>
  }
}

// -----

// The halo is the largest that any window wants, of the relayout of an argument too. A maximum takes
// zeros in only where no element is negative: otherwise it has its own padding.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  // ALWAYS-LABEL: @halo
  func.func @halo(%x: tensor<1x8x8x8xf32>, %w: tensor<8x8x3x3xf32>, %v: tensor<8x8x5x1xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>) {
    // ALWAYS: graph.relayout %x : {{.*}} -> tensor<1x8x8x8xf32, #graph.layout<block = [0, 8, 0, 0], halo = [2, 1, 2, 1]>>
    // ALWAYS: graph.conv {{.*}} -> tensor<1x8x8x8xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x8x8x8xf32>, tensor<8x8x3x3xf32> -> tensor<1x8x8x8xf32>
    // ALWAYS: graph.conv {{.*}} -> tensor<1x8x8x8xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    %1 = graph.conv %x, %v strides = [1, 1] pads = [2, 0, 2, 0] dilations = [1, 1] groups = 1 : tensor<1x8x8x8xf32>, tensor<8x8x5x1xf32> -> tensor<1x8x8x8xf32>
    // ALWAYS: graph.max_pool
    %2 = graph.max_pool %0 window = [2, 2] strides = [1, 1] pads = [1, 1, 0, 0] dilations = [1, 1] : tensor<1x8x8x8xf32> -> tensor<1x8x8x8xf32>
    // ALWAYS: graph.relu {{.*}} -> tensor<1x8x8x8xf32, #graph.layout<block = [0, 8, 0, 0], halo = [1, 1, 0, 0]>>
    %3 = graph.relu %1 : tensor<1x8x8x8xf32> -> tensor<1x8x8x8xf32>
    %4 = graph.max_pool %3 window = [2, 2] strides = [1, 1] pads = [1, 1, 0, 0] dilations = [1, 1] : tensor<1x8x8x8xf32> -> tensor<1x8x8x8xf32>
    %5 = graph.reduce_mean %0 axes = [2, 3] : tensor<1x8x8x8xf32> -> tensor<1x8xf32>
    %6 = graph.reduce_mean %2 axes = [2, 3] : tensor<1x8x8x8xf32> -> tensor<1x8xf32>
    %7 = graph.reduce_mean %4 axes = [2, 3] : tensor<1x8x8x8xf32> -> tensor<1x8xf32>
    func.return %5, %6, %7 : tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>
  }
}

// -----

// What a backend compiles stays as it is; its arguments are row-major.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  // ALWAYS-LABEL: @foreign
  // ALWAYS-NOT: #graph.layout
  // ALWAYS: func.return
  func.func private @foreign(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32> attributes {compiler = "x"} {
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x4x4xf32>
    func.return %0 : tensor<1x8x4x4xf32>
  }
  // ALWAYS-LABEL: @main
  func.func @main(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32> {
    // ALWAYS: graph.conv
    // ALWAYS-NEXT: %[[R:.*]] = graph.relayout
    // ALWAYS-NEXT: graph.call @foreign(%[[R]], %w)
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x4x4xf32>
    %1 = graph.call @foreign(%0, %w) : tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x4x4xf32>
    func.return %1 : tensor<1x8x4x4xf32>
  }
}

// -----

// So does a call that gives several results, of what a convolution made and for another one.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  func.func private @two(tensor<1x8x4x4xf32>) -> (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>)
  // ALWAYS-LABEL: @main
  func.func @main(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) {
    // ALWAYS: %[[C:.*]] = graph.conv
    // ALWAYS-NEXT: %[[R:.*]] = graph.relayout %[[C]]
    // ALWAYS-NEXT: %[[A:.*]], %[[B:.*]] = graph.call @two(%[[R]]) : tensor<1x8x4x4xf32> -> tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>
    // ALWAYS-NEXT: %[[S:.*]] = graph.relayout %[[A]]
    // ALWAYS-NEXT: graph.conv %[[S]]
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x4x4xf32>
    %1, %2 = graph.call @two(%0) : tensor<1x8x4x4xf32> -> tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>
    %3 = graph.conv %1, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x8x4x4xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x4x4xf32>
    func.return %3, %2 : tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>
  }
}

// -----

// A transposed convolution works in blocks, and reads a halo: its phases reach one pixel over each edge.
// The one of few outputs does not: it would fill up too much.
builtin.module attributes {inarch.target = "x86-64-v4"} {
  // ALWAYS-LABEL: @transposed
  func.func @transposed(%x: tensor<1x32x8x8xf32>, %w: tensor<32x16x4x4xf32>, %v: tensor<16x3x2x2xf32>) -> tensor<1x3x32x32xf32> {
    // ALWAYS: %[[X:.*]] = graph.relayout %x : tensor<1x32x8x8xf32> -> tensor<1x32x8x8xf32, #graph.layout<block = [0, 16, 0, 0], halo = [1, 1, 1, 1]>>
    // ALWAYS: %[[Y:.*]] = graph.conv_transpose %[[X]], %w {{.*}} -> tensor<1x16x16x16xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
    %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [1, 1, 1, 1] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x32x8x8xf32>, tensor<32x16x4x4xf32> -> tensor<1x16x16x16xf32>
    // ALWAYS: %[[Z:.*]] = graph.relayout %[[Y]] {{.*}} -> tensor<1x16x16x16xf32>
    // ALWAYS: graph.conv_transpose %[[Z]], %v
    %1 = graph.conv_transpose %0, %v strides = [2, 2] pads = [0, 0, 0, 0] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x16x16x16xf32>, tensor<16x3x2x2xf32> -> tensor<1x3x32x32xf32>
    func.return %1 : tensor<1x3x32x32xf32>
  }
}


// -----

// Sums of bytes: few channels of the image are side by side, in a block of their own, all others in vectors of i32.
builtin.module attributes {inarch.target = "x86-64-v4"} {
  // ALWAYS-LABEL: @bytes
  func.func @bytes(%x: tensor<1x4x30x30xui8>) -> tensor<1x32x26x26xi32> {
    %w = graph.constant dense<1> : tensor<32x4x3x3xi8>
    %v = graph.constant dense<1> : tensor<32x32x3x3xi8>
    // ALWAYS: %[[X:.*]] = graph.relayout %x : {{.*}} -> tensor<1x4x30x30xui8, #graph.layout<block = [0, 4, 0, 0], halo = []>>
    // ALWAYS: graph.conv %[[X]], %w {{.*}} -> tensor<1x32x28x28xi32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 to = i32 : tensor<1x4x30x30xui8>, tensor<32x4x3x3xi8> -> tensor<1x32x28x28xi32>
    // ALWAYS: graph.cast {{.*}} -> tensor<1x32x28x28xui8, #graph.layout<block = [0, 16, 0, 0], halo = []>>
    %1 = graph.cast %0 to ui8 : tensor<1x32x28x28xi32> -> tensor<1x32x28x28xui8>
    %2 = graph.conv %1, %v strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 to = i32 : tensor<1x32x28x28xui8>, tensor<32x32x3x3xi8> -> tensor<1x32x26x26xi32>
    func.return %2 : tensor<1x32x26x26xi32>
  }
}
