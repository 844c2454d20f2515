// RUN: inarch-opt %s --load %S/Inputs/toy.py --load %S/Inputs/passing.py --split-input-file -p merge-composites | filecheck %s

// Constants go into the composite, and the one that nobody else uses goes away.
// CHECK-LABEL: @bound
// CHECK-NEXT: %b = graph.constant
// CHECK-NEXT: %a = graph.composite "toy.conv_bias_relu"(%x) attributes {partition.backend = "toy"} : (tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32> {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<1x3x8x8xf32>):
// CHECK-NEXT:   %w = graph.constant
// CHECK-NEXT:   %[[B:.*]] = graph.constant
// CHECK-NEXT:   %c = graph.conv %[[X]], %w
// CHECK-NEXT:   %[[A:.*]] = graph.add %[[B]], %c : tensor
// CHECK-NEXT:   graph.yield %[[A]] : tensor<1x4x8x8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: graph.add %a, %b
func.func @bound(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = graph.constant dense<1.0> : tensor<4x3x1x1xf32>
  %b = graph.constant dense<1.0> : tensor<4x1x1xf32>
  %c = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 {partition.backend = "toy", partition.pattern = "conv_bias_relu", partition.match = 0 : i64} : tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32> -> tensor<1x4x8x8xf32>
  %a = graph.add %b, %c {partition.backend = "toy", partition.pattern = "conv_bias_relu", partition.match = 0 : i64} : tensor<4x1x1xf32>, tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %r = graph.add %a, %b : tensor<1x4x8x8xf32>, tensor<4x1x1xf32> -> tensor<1x4x8x8xf32>
  func.return %r : tensor<1x4x8x8xf32>
}

// -----

// CHECK-LABEL: @passed
// CHECK-NEXT: %k = graph.constant
// CHECK-NEXT: %m = graph.composite "passing.scale"(%x, %k) attributes {partition.backend = "passing"} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4xf32>, %[[K:.*]]: tensor<f32>):
// CHECK-NEXT:   %[[M:.*]] = graph.mul %[[X]], %[[K]] : tensor
// CHECK-NEXT:   graph.yield %[[M]]
// CHECK-NEXT: }
// CHECK-NEXT: func.return %m
func.func @passed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k = graph.constant dense<2.0> : tensor<f32>
  %m = graph.mul %x, %k {partition.backend = "passing", partition.pattern = "scale", partition.match = 7 : i64} : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  func.return %m : tensor<4xf32>
}
