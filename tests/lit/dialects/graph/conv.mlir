// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
func.func @plain(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6x6xf32>
  func.return
}

// Every property, and a bias.
// CHECK-LABEL: func.func @everything(
// CHECK-NEXT: %0 = graph.conv %x, %w bias %b strides = [2, 3] pads = [1, 0, 2, 1] dilations = [2, 1] groups = 2 : tensor<2x4x8x9xf32>, tensor<6x2x3x2xf32>, tensor<6xf32> -> tensor<2x6x4x3xf32>
func.func @everything(%x: tensor<2x4x8x9xf32>, %w: tensor<6x2x3x2xf32>, %b: tensor<6xf32>) {
  %0 = graph.conv %x, %w bias %b strides = [2, 3] pads = [1, 0, 2, 1] dilations = [2, 1] groups = 2 : tensor<2x4x8x9xf32>, tensor<6x2x3x2xf32>, tensor<6xf32> -> tensor<2x6x4x3xf32>
  func.return
}

// Narrow integers, whose products are summed up in i32.
// CHECK-LABEL: func.func @narrow(
// CHECK-NEXT: %0 = graph.conv %x, %w bias %b strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 to = i32 : tensor<1x3x8x8xui8>, tensor<4x3x3x3xi8>, tensor<4xi32> -> tensor<1x4x6x6xi32>
func.func @narrow(%x: tensor<1x3x8x8xui8>, %w: tensor<4x3x3x3xi8>, %b: tensor<4xi32>) {
  %0 = graph.conv %x, %w bias %b strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 to = i32 : tensor<1x3x8x8xui8>, tensor<4x3x3x3xi8>, tensor<4xi32> -> tensor<1x4x6x6xi32>
  func.return
}

// Any spatial rank.
// CHECK-LABEL: func.func @ranks(
// CHECK-NEXT: %0 = graph.conv %x, %w strides = [4] pads = [0, 0] dilations = [1] groups = 1 : tensor<1x2x9xf32>, tensor<4x2x3xf32> -> tensor<1x4x2xf32>
// CHECK-NEXT: %1 = graph.conv %v, %u strides = [1, 1, 1] pads = [0, 0, 0, 0, 0, 0] dilations = [1, 1, 2] groups = 1 : tensor<1x2x5x5x5xi32>, tensor<4x2x3x3x3xi32> -> tensor<1x4x3x3x1xi32>
func.func @ranks(%x: tensor<1x2x9xf32>, %w: tensor<4x2x3xf32>, %v: tensor<1x2x5x5x5xi32>, %u: tensor<4x2x3x3x3xi32>) {
  %0 = graph.conv %x, %w strides = [4] pads = [0, 0] dilations = [1] groups = 1 : tensor<1x2x9xf32>, tensor<4x2x3xf32> -> tensor<1x4x2xf32>
  %1 = graph.conv %v, %u strides = [1, 1, 1] pads = [0, 0, 0, 0, 0, 0] dilations = [1, 1, 2] groups = 1 : tensor<1x2x5x5x5xi32>, tensor<4x2x3x3x3xi32> -> tensor<1x4x3x3x1xi32>
  func.return
}
