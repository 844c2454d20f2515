// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @gather(
// CHECK-NEXT: %0 = graph.gather %x, %i axis = 0 : tensor<2x3xf32>, tensor<4x5xi64> -> tensor<4x5x3xf32>
// CHECK-NEXT: %1 = graph.gather %x, %j axis = 1 : tensor<2x3xf32>, tensor<i32> -> tensor<2xf32>
func.func @gather(%x: tensor<2x3xf32>, %i: tensor<4x5xi64>, %j: tensor<i32>) {
  %0 = graph.gather %x, %i axis = 0 : tensor<2x3xf32>, tensor<4x5xi64> -> tensor<4x5x3xf32>
  %1 = graph.gather %x, %j axis = 1 : tensor<2x3xf32>, tensor<i32> -> tensor<2xf32>
  func.return
}
