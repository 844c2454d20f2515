// RUN: inarch-opt %s --split-input-file -p choose-algorithm | filecheck %s

// The cheapest algorithm that the numerics allow; the default is bounded.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  // CHECK-LABEL: @main
  // CHECK: graph.conv {{.*}} groups = 1 {inarch.algorithm = "winograd-2x2"}
  func.func @main(%x: tensor<1x64x12x12xf32>) -> tensor<1x64x12x12xf32> {
    %w = graph.constant dense<0.5> : tensor<64x64x3x3xf32>
    %0 = graph.relayout %x : tensor<1x64x12x12xf32> -> tensor<1x64x12x12xf32, #graph.layout<block = [0, 8, 0, 0], halo = [1, 1, 1, 1]>>
    %1 = graph.conv %0, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x64x12x12xf32, #graph.layout<block = [0, 8, 0, 0], halo = [1, 1, 1, 1]>>, tensor<64x64x3x3xf32> -> tensor<1x64x12x12xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    %2 = graph.relayout %1 : tensor<1x64x12x12xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>> -> tensor<1x64x12x12xf32>
    func.return %2 : tensor<1x64x12x12xf32>
  }
}

// -----

// What an op asks for by its attribute, and the module for all that it selects, is taken whatever they are.
builtin.module attributes {inarch.target = "x86-64-v3", inarch.numerics = "strict", inarch.algorithms = ["conv=winograd-4x4"]} {
  // CHECK-LABEL: @main
  // CHECK: graph.conv {{.*}} groups = 1 {inarch.algorithm = "winograd-4x4"}
  func.func @main(%x: tensor<1x64x6x6xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>) -> tensor<1x64x6x6xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>> {
    %w = graph.constant dense_resource<w> : tensor<64x64x3x3xf32>
    %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x64x6x6xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>, tensor<64x64x3x3xf32> -> tensor<1x64x6x6xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    func.return %0 : tensor<1x64x6x6xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
  }
}

// -----

// Strict: what each op states. Row-major images have one algorithm.
builtin.module attributes {inarch.target = "x86-64-v3", inarch.numerics = "strict"} {
  // CHECK-LABEL: @main
  // CHECK-NOT: inarch.algorithm =
  func.func @main(%x: tensor<1x64x28x28xf32>) -> tensor<1x64x26x26xf32> {
    %w = graph.constant dense_resource<w> : tensor<64x64x3x3xf32>
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x64x28x28xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x26x26xf32>
    func.return %0 : tensor<1x64x26x26xf32>
  }
}

// -----

// Weights that are an argument: their transform is part of the cost.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  // CHECK-LABEL: @main
  // CHECK: graph.conv {{.*}} groups = 1 {inarch.algorithm = "winograd-2x2"}
  func.func @main(%x: tensor<1x64x28x28xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>> {
    %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x64x28x28xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>, tensor<64x64x3x3xf32> -> tensor<1x64x28x28xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    func.return %0 : tensor<1x64x28x28xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
  }
}

// -----

// Channels that do not fill their last block.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  // CHECK-LABEL: @main
  // CHECK: graph.conv {{.*}} groups = 1 {inarch.algorithm = "winograd-2x2"}
  func.func @main(%x: tensor<1x100x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>) -> tensor<1x90x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>> {
    %w = graph.constant dense<0.5> : tensor<90x100x3x3xf32>
    %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x100x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>, tensor<90x100x3x3xf32> -> tensor<1x90x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    func.return %0 : tensor<1x90x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
  }
}

// -----

// Of few outputs and many terms with a stride, a product of matrices costs less than direct.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  // CHECK-LABEL: @main
  // CHECK: graph.conv {{.*}} groups = 1 {inarch.algorithm = "gemm"}
  func.func @main(%x: tensor<1x384x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>) -> tensor<1x768x7x7xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>> {
    %w = graph.constant dense<0.5> : tensor<768x384x2x2xf32>
    %0 = graph.conv %x, %w strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x384x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>, tensor<768x384x2x2xf32> -> tensor<1x768x7x7xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    func.return %0 : tensor<1x768x7x7xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
  }
}

// -----

// The transformed weights of F(4x4) are 37.7 MB that each call writes: those of F(2x2), 16.8 MB, cost less.
builtin.module attributes {inarch.target = "x86-64-v3", inarch.numerics = "fast"} {
  // CHECK-LABEL: @main
  // CHECK: graph.conv {{.*}} groups = 1 {inarch.algorithm = "winograd-2x2"}
  func.func @main(%x: tensor<1x512x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>, %w: tensor<512x512x3x3xf32>) -> tensor<1x512x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>> {
    %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x512x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>, tensor<512x512x3x3xf32> -> tensor<1x512x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    func.return %0 : tensor<1x512x14x14xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
  }
}
