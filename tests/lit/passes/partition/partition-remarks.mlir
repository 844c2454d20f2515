// RUN: inarch-opt %s --load %S/Inputs/toy.py -p 'annotate{backends=toy},merge-composites,merge-regions,partition' --verify-diagnostics --remarks -o %t

func.func @main(%x: tensor<1x3x5x5xf32>, %y: tensor<2x2xf32>) -> (tensor<1x4x3x3xf32>, tensor<2x2xf32>) {
  %w = graph.constant dense<1.0> : tensor<4x3x3x3xf32>
  // expected-remark @below {{[partition] graph.conv is in @toy_0 of toy by its pattern conv_bias_relu}}
  %c = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x3x5x5xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x3x3xf32>
  // expected-remark @below {{[partition] graph.mul is in @toy_1 of toy}}
  %m = graph.mul %y, %y : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  // expected-remark @below {{[partition] missed: graph.exp is not for toy: no pattern or op list has graph.exp}}
  %e = graph.exp %m : tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %c, %e : tensor<1x4x3x3xf32>, tensor<2x2xf32>
}
