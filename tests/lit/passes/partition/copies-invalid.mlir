// RUN: inarch-opt %s --load %S/Inputs/copies.py --verify-diagnostics -p 'annotate{backends=copies}'

func.func @given_and_shared(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %q = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %w = graph.dequantize %q scale %s : tensor<2x2xi8>, tensor<f32> -> tensor<2x2xf32>
  // expected-error @below {{'graph.transpose' is given to backend 'copies', which cannot take it: pattern product: interior value %t}}
  %t = graph.transpose %w perm = [1, 0] {partition.give = "copies"} : tensor<2x2xf32> -> tensor<2x2xf32>
  %0 = graph.matmul %x, %t : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %1 = graph.exp %t : tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}
