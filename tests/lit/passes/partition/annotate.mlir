// RUN: inarch-opt %s --load %S/Inputs/toy.py --load %S/Inputs/passing.py --split-input-file -p 'annotate{backends=toy,passing}' | filecheck %s
// RUN: inarch-opt %s --load %S/Inputs/toy.py --load %S/Inputs/passing.py --split-input-file -p 'annotate{backends=passing,toy}' | filecheck %s --check-prefix=OTHER

// The optional parts are taken; the constants are no one's.
// CHECK-LABEL: @conv_bias_relu
// CHECK:      %w = graph.constant dense<1.000000e+00> : tensor<4x3x1x1xf32>
// CHECK:      graph.conv {{.*}} {partition.backend = "toy", partition.pattern = "conv_bias_relu", partition.match = 0 : i64}
// CHECK-NEXT: graph.add %b, %c {partition.backend = "toy", partition.pattern = "conv_bias_relu", partition.match = 0 : i64}
// CHECK-NEXT: graph.relu %a {partition.backend = "toy", partition.pattern = "conv_bias_relu", partition.match = 0 : i64}
// CHECK-NEXT: graph.tanh %r : tensor
// With the other backend preferred, the add is its own, and the convolution is alone.
// OTHER-LABEL: @conv_bias_relu
// OTHER:      graph.conv {{.*}} {partition.backend = "toy", partition.pattern = "conv_bias_relu", partition.match = 0 : i64}
// OTHER-NEXT: graph.add %b, %c {partition.backend = "passing"}
// OTHER-NEXT: graph.relu %a : tensor
func.func @conv_bias_relu(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = graph.constant dense<1.0> : tensor<4x3x1x1xf32>
  %b = graph.constant dense<1.0> : tensor<4x1x1xf32>
  %c = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32> -> tensor<1x4x8x8xf32>
  %a = graph.add %b, %c : tensor<4x1x1xf32>, tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %r = graph.relu %a : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %t = graph.tanh %r : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  func.return %t : tensor<1x4x8x8xf32>
}

// -----

// An interior value with a user outside ends the match; a dead op is not taken.
// CHECK-LABEL: @used_elsewhere
// CHECK:      graph.conv {{.*}} {partition.backend = "toy", partition.pattern = "conv_bias_relu", partition.match = 0 : i64}
// CHECK-NEXT: graph.relu %c : tensor
// CHECK-NEXT: graph.mul %c, %c : tensor
func.func @used_elsewhere(%x: tensor<1x3x8x8xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %w = graph.constant dense<1.0> : tensor<4x3x1x1xf32>
  %c = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32> -> tensor<1x4x8x8xf32>
  %r = graph.relu %c : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  %dead = graph.mul %c, %c : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  func.return %r, %c : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}

// -----

// By hand, in the program.
// CHECK-LABEL: @by_hand
// CHECK-NEXT: graph.add %x, %x {partition.give = "passing", partition.backend = "passing"}
// CHECK-NEXT: graph.mul %a, %a {partition.keep = ["toy"]} : tensor
// CHECK-NEXT: graph.mul %b, %b {partition.keep = ["*"]} : tensor
func.func @by_hand(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.add %x, %x {partition.give = "passing"} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %b = graph.mul %a, %a {partition.keep = ["toy"]} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %c = graph.mul %b, %b {partition.keep = ["*"]} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// -----

// Functions of a backend, and private ones, are left alone.
// CHECK-LABEL: @other_0
// CHECK-NEXT: graph.mul %x, %x : tensor
func.func private @other_0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {compiler = "toy"} {
  %a = graph.mul %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// -----

// What lies in a layout is the host's: no backend is told of it.
// CHECK-LABEL: @blocked
// CHECK-NEXT: graph.relayout %x : tensor
// CHECK-NEXT: graph.add %b, %b : tensor
// CHECK-NEXT: graph.relayout %s : tensor
// CHECK-NEXT: graph.add %p, %p {partition.backend = "passing"}
func.func @blocked(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> {
  %b = graph.relayout %x : tensor<1x16x8x8xf32> -> tensor<1x16x8x8xf32, #graph.layout<block = [0, 8, 0, 0], halo = [0, 0, 0, 0]>>
  %s = graph.add %b, %b : tensor<1x16x8x8xf32, #graph.layout<block = [0, 8, 0, 0], halo = [0, 0, 0, 0]>>, tensor<1x16x8x8xf32, #graph.layout<block = [0, 8, 0, 0], halo = [0, 0, 0, 0]>> -> tensor<1x16x8x8xf32, #graph.layout<block = [0, 8, 0, 0], halo = [0, 0, 0, 0]>>
  %p = graph.relayout %s : tensor<1x16x8x8xf32, #graph.layout<block = [0, 8, 0, 0], halo = [0, 0, 0, 0]>> -> tensor<1x16x8x8xf32>
  %r = graph.add %p, %p : tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32> -> tensor<1x16x8x8xf32>
  func.return %r : tensor<1x16x8x8xf32>
}
