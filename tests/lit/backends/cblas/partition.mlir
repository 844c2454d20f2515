// RUN: inarch-opt %s -p 'annotate{backends=cblas},merge-composites,merge-regions,partition' | filecheck %s

// What is taken, and what stays: a 3x3 convolution, and a 1x1 convolution with stride 2.
func.func @main(%x: tensor<1x4x8x8xf32>, %w1: tensor<6x4x1x1xf32>, %w3: tensor<6x6x3x3xf32>,
    %ws: tensor<6x4x1x1xf32>, %r: tensor<1x6x8x8xf32>)
    -> (tensor<1x6x8x8xf32>, tensor<1x6x6x6xf32>, tensor<1x6x4x4xf32>) {
  %a = graph.conv %x, %w1 strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1
      : tensor<1x4x8x8xf32>, tensor<6x4x1x1xf32> -> tensor<1x6x8x8xf32>
  %b = graph.add %r, %a : tensor<1x6x8x8xf32>, tensor<1x6x8x8xf32> -> tensor<1x6x8x8xf32>
  %c = graph.relu %b : tensor<1x6x8x8xf32> -> tensor<1x6x8x8xf32>
  %d = graph.conv %c, %w3 strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1
      : tensor<1x6x8x8xf32>, tensor<6x6x3x3xf32> -> tensor<1x6x6x6xf32>
  %e = graph.conv %x, %ws strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1
      : tensor<1x4x8x8xf32>, tensor<6x4x1x1xf32> -> tensor<1x6x4x4xf32>
  func.return %c, %d, %e : tensor<1x6x8x8xf32>, tensor<1x6x6x6xf32>, tensor<1x6x4x4xf32>
}
// CHECK:      func.func @main
// CHECK-NEXT:   graph.call @cblas_0
// CHECK-NEXT:   graph.conv
// CHECK-SAME:     tensor<6x6x3x3xf32>
// CHECK-NEXT:   graph.conv
// CHECK-SAME:     strides = [2, 2]
// CHECK:      func.func private @cblas_0
// CHECK-SAME:   compiler = "cblas"
// CHECK-NEXT:   graph.composite "cblas.conv_add"
// CHECK:          graph.conv
// CHECK-NEXT:     graph.add
// CHECK-NEXT:     graph.relu
// CHECK-NEXT:     graph.yield
