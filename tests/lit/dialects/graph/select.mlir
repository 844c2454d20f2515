// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @all_three_broadcast(
// CHECK-NEXT: graph.select %c, %a, %b : tensor<2x1xi1>, tensor<3xf32>, tensor<f32> -> tensor<2x3xf32>
func.func @all_three_broadcast(%c: tensor<2x1xi1>, %a: tensor<3xf32>, %b: tensor<f32>) {
  %0 = graph.select %c, %a, %b : tensor<2x1xi1>, tensor<3xf32>, tensor<f32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @bools(
// CHECK-NEXT: graph.select %c, %a, %b : tensor<2xi1>, tensor<2xi1>, tensor<2xi1> -> tensor<2xi1>
func.func @bools(%c: tensor<2xi1>, %a: tensor<2xi1>, %b: tensor<2xi1>) {
  %0 = graph.select %c, %a, %b : tensor<2xi1>, tensor<2xi1>, tensor<2xi1> -> tensor<2xi1>
  func.return
}
