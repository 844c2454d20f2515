// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s

func.func @smallest(%x: tensor<4x50xf32>) -> (tensor<4x5xf32>, tensor<4x5xi64>) {
  %v, %i = graph.topk %x k = 5 axis = 1 largest = false : tensor<4x50xf32> -> tensor<4x5xf32>, tensor<4x5xi64>
  func.return %v, %i : tensor<4x5xf32>, tensor<4x5xi64>
}
// CHECK: graph.topk %x k = 5 axis = 1 largest = false : tensor<4x50xf32> -> tensor<4x5xf32>, tensor<4x5xi64>
