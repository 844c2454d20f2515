// RUN: inarch-opt %s -p decompose-composites | filecheck %s

// CHECK-LABEL: @softmax
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.softmax %x axis = 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK:      graph.reduce_max
// CHECK-NEXT: graph.sub
// CHECK-NEXT: graph.exp
// CHECK-NEXT: graph.reduce_sum
// CHECK-NEXT: graph.reciprocal
// CHECK-NEXT: %[[OUT:.*]] = graph.mul
// CHECK-NEXT: func.return %[[OUT]]
// CHECK-NOT:  graph.softmax
