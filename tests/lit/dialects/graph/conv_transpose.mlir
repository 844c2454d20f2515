// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [1, 1, 1, 1] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x4x4xf32> -> tensor<1x4x16x16xf32>
func.func @plain(%x: tensor<1x3x8x8xf32>, %w: tensor<3x4x4x4xf32>) {
  %0 = graph.conv_transpose %x, %w strides = [2, 2] pads = [1, 1, 1, 1] output_padding = [0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<3x4x4x4xf32> -> tensor<1x4x16x16xf32>
  func.return
}

// Every property, and a bias.
// CHECK-LABEL: func.func @everything(
// CHECK-NEXT: %0 = graph.conv_transpose %x, %w bias %b strides = [2, 3] pads = [1, 0, 2, 1] output_padding = [1, 0] dilations = [2, 1] groups = 2 : tensor<2x4x8x9xf32>, tensor<4x3x3x2xf32>, tensor<6xf32> -> tensor<2x6x17x25xf32>
func.func @everything(%x: tensor<2x4x8x9xf32>, %w: tensor<4x3x3x2xf32>, %b: tensor<6xf32>) {
  %0 = graph.conv_transpose %x, %w bias %b strides = [2, 3] pads = [1, 0, 2, 1] output_padding = [1, 0] dilations = [2, 1] groups = 2 : tensor<2x4x8x9xf32>, tensor<4x3x3x2xf32>, tensor<6xf32> -> tensor<2x6x17x25xf32>
  func.return
}

// Any spatial rank; as many phases as there may be.
// CHECK-LABEL: func.func @ranks(
// CHECK-NEXT: %0 = graph.conv_transpose %x, %w strides = [64] pads = [0, 0] output_padding = [0] dilations = [1] groups = 1 : tensor<1x2x3xf32>, tensor<2x4x1xf32> -> tensor<1x4x129xf32>
// CHECK-NEXT: %1 = graph.conv_transpose %v, %u strides = [4, 4, 4] pads = [0, 0, 0, 0, 0, 0] output_padding = [0, 0, 0] dilations = [1, 1, 2] groups = 1 : tensor<1x2x2x2x2xi32>, tensor<2x4x3x3x3xi32> -> tensor<1x4x7x7x9xi32>
func.func @ranks(%x: tensor<1x2x3xf32>, %w: tensor<2x4x1xf32>, %v: tensor<1x2x2x2x2xi32>, %u: tensor<2x4x3x3x3xi32>) {
  %0 = graph.conv_transpose %x, %w strides = [64] pads = [0, 0] output_padding = [0] dilations = [1] groups = 1 : tensor<1x2x3xf32>, tensor<2x4x1xf32> -> tensor<1x4x129xf32>
  %1 = graph.conv_transpose %v, %u strides = [4, 4, 4] pads = [0, 0, 0, 0, 0, 0] output_padding = [0, 0, 0] dilations = [1, 1, 2] groups = 1 : tensor<1x2x2x2x2xi32>, tensor<2x4x3x3x3xi32> -> tensor<1x4x7x7x9xi32>
  func.return
}
