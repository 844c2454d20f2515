// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s

func.func @elements(%d: tensor<3x4xf32>, %i: tensor<5x2xi64>, %u: tensor<5x2xf32>) -> tensor<3x4xf32> {
  %y = graph.scatter_elements %d, %i, %u axis = 0 reduction = "add" : tensor<3x4xf32>, tensor<5x2xi64>, tensor<5x2xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
// CHECK: graph.scatter_elements %d, %i, %u axis = 0 reduction = "add" : tensor<3x4xf32>, tensor<5x2xi64>, tensor<5x2xf32> -> tensor<3x4xf32>

func.func @rows(%d: tensor<3x4x2xi1>, %i: tensor<5x1x2xi32>, %u: tensor<5x1x2xi1>) -> tensor<3x4x2xi1> {
  %y = graph.scatter_nd %d, %i, %u : tensor<3x4x2xi1>, tensor<5x1x2xi32>, tensor<5x1x2xi1> -> tensor<3x4x2xi1>
  func.return %y : tensor<3x4x2xi1>
}
// CHECK: graph.scatter_nd %d, %i, %u : tensor<3x4x2xi1>, tensor<5x1x2xi32>, tensor<5x1x2xi1> -> tensor<3x4x2xi1>
