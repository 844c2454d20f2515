// RUN: inarch-opt %s --split-input-file -p fold-batch-norm | filecheck %s
// RUN: inarch-opt %s --split-input-file -p fold-batch-norm --verify-diagnostics --remarks -o %t

// s = 2 / sqrt(3 + 1) = 1: w = 5 * 1, b = (0 - 1) * 1 + 4 = 3.
// CHECK-LABEL: @folds_into_the_convolution
func.func @folds_into_the_convolution(%x: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %w = graph.constant dense<5.0> : tensor<1x1x1xf32>
  %scale = graph.constant dense<2.0> : tensor<1xf32>
  %bias = graph.constant dense<4.0> : tensor<1xf32>
  %mean = graph.constant dense<1.0> : tensor<1xf32>
  %var = graph.constant dense<3.0> : tensor<1xf32>
  %0 = graph.conv %x, %w strides = [1] pads = [0, 0] dilations = [1] groups = 1 : tensor<1x1x3xf32>, tensor<1x1x1xf32> -> tensor<1x1x3xf32>
  // expected-remark-re @below {{[fold-batch-norm] it is in the weights of {{[^ ]+}}:{{[0-9]+}}:3}}
  %1 = graph.batch_norm %0, %scale, %bias, %mean, %var epsilon = 1.0 : tensor<1x1x3xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32> -> tensor<1x1x3xf32>
  func.return %1 : tensor<1x1x3xf32>
}
// CHECK-NEXT: %[[W:.*]] = graph.constant dense<5.000000e+00> : tensor<1x1x1xf32>
// CHECK-NEXT: %[[B:.*]] = graph.constant dense<3.000000e+00> : tensor<1xf32>
// CHECK-NEXT: graph.conv %x, %[[W]]{{.*}}%[[B]]
// CHECK-NEXT: func.return

// -----

// CHECK-LABEL: @keeps_a_convolution_with_two_users
func.func @keeps_a_convolution_with_two_users(%x: tensor<1x1x3xf32>) -> (tensor<1x1x3xf32>, tensor<1x1x3xf32>) {
  %w = graph.constant dense<5.0> : tensor<1x1x1xf32>
  %s = graph.constant dense<2.0> : tensor<1xf32>
  %0 = graph.conv %x, %w strides = [1] pads = [0, 0] dilations = [1] groups = 1 : tensor<1x1x3xf32>, tensor<1x1x1xf32> -> tensor<1x1x3xf32>
  // expected-remark @below {{[fold-batch-norm] missed: the convolution's result has other uses}}
  %1 = graph.batch_norm %0, %s, %s, %s, %s epsilon = 1.0 : tensor<1x1x3xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32> -> tensor<1x1x3xf32>
  func.return %0, %1 : tensor<1x1x3xf32>, tensor<1x1x3xf32>
}
// CHECK: graph.batch_norm

// -----

// The weights of a transposed convolution have their outputs, of each group, along the second dimension.
// s = [1, 2, 3, 4] / sqrt(3 + 1).
// CHECK-LABEL: @folds_into_the_transposed_convolution
func.func @folds_into_the_transposed_convolution(%x: tensor<1x4x3xf32>) -> tensor<1x4x6xf32> {
  %w = graph.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]], [[7.0], [8.0]]]> : tensor<4x2x1xf32>
  %b = graph.constant dense<[1.0, 0.0, 0.0, 0.0]> : tensor<4xf32>
  %scale = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %bias = graph.constant dense<[4.0, 0.0, 0.0, 0.0]> : tensor<4xf32>
  %mean = graph.constant dense<[0.0, 0.0, 0.0, 2.0]> : tensor<4xf32>
  %var = graph.constant dense<3.0> : tensor<4xf32>
  %0 = graph.conv_transpose %x, %w bias %b strides = [2] pads = [0, 0] output_padding = [1] dilations = [1] groups = 2 : tensor<1x4x3xf32>, tensor<4x2x1xf32>, tensor<4xf32> -> tensor<1x4x6xf32>
  // expected-remark-re @below {{[fold-batch-norm] it is in the weights of {{[^ ]+}}:{{[0-9]+}}:3}}
  %1 = graph.batch_norm %0, %scale, %bias, %mean, %var epsilon = 1.0 : tensor<1x4x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<1x4x6xf32>
  func.return %1 : tensor<1x4x6xf32>
}
// CHECK-NEXT{LITERAL}: %0 = graph.constant dense<[[[5.000000e-01], [2.000000e+00]], [[1.500000e+00], [4.000000e+00]], [[7.500000e+00], [1.200000e+01]], [[1.050000e+01], [1.600000e+01]]]> : tensor<4x2x1xf32>
// CHECK-NEXT: %1 = graph.constant dense<[4.500000e+00, 0.000000e+00, 0.000000e+00, -4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT: graph.conv_transpose %x, %0 bias %1 strides = [2] pads = [0, 0] output_padding = [1] dilations = [1] groups = 2
// CHECK-NEXT: func.return
