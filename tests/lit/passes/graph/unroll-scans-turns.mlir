// RUN: inarch-opt %s -p 'unroll-scans{iterations=2}' --split-input-file | filecheck %s

// Rows are taken backward, and stacked in their order.
// CHECK-LABEL: func.func @main(%xs: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:    %0 = graph.slice %xs starts = [1, 0] sizes = [1, 3] steps = [1, 1] : tensor<2x3xf32> -> tensor<1x3xf32>
// CHECK-NEXT:    %1 = graph.reshape %0 shape = [3] : tensor<1x3xf32> -> tensor<3xf32>
// CHECK-NEXT:    %p = graph.tanh %1 : tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:    %2 = graph.slice %xs starts = [0, 0] sizes = [1, 3] steps = [1, 1] : tensor<2x3xf32> -> tensor<1x3xf32>
// CHECK-NEXT:    %3 = graph.reshape %2 shape = [3] : tensor<1x3xf32> -> tensor<3xf32>
// CHECK-NEXT:    %p_1 = graph.tanh %3 : tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:    %4 = graph.reshape %p shape = [1, 3] : tensor<3xf32> -> tensor<1x3xf32>
// CHECK-NEXT:    %5 = graph.reshape %p_1 shape = [1, 3] : tensor<3xf32> -> tensor<1x3xf32>
// CHECK-NEXT:    %ys = graph.concat %4, %5 axis = 0 : tensor<1x3xf32>, tensor<1x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    func.return %ys : tensor<2x3xf32>
// CHECK-NEXT:  }
func.func @main(%xs: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %ys = graph.scan 2 iterations from() each(%xs) all() backward [1, 0] : (tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%x: tensor<3xf32>):
    %p = graph.tanh %x : tensor<3xf32> -> tensor<3xf32>
    graph.yield %p : tensor<3xf32>
  }
  func.return %ys : tensor<2x3xf32>
}

// -----

// And put backward.
// CHECK-LABEL: func.func @main(%xs: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:    %0 = graph.slice %xs starts = [0, 0] sizes = [1, 3] steps = [1, 1] : tensor<2x3xf32> -> tensor<1x3xf32>
// CHECK-NEXT:    %1 = graph.reshape %0 shape = [3] : tensor<1x3xf32> -> tensor<3xf32>
// CHECK-NEXT:    %p = graph.tanh %1 : tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:    %2 = graph.slice %xs starts = [1, 0] sizes = [1, 3] steps = [1, 1] : tensor<2x3xf32> -> tensor<1x3xf32>
// CHECK-NEXT:    %3 = graph.reshape %2 shape = [3] : tensor<1x3xf32> -> tensor<3xf32>
// CHECK-NEXT:    %p_1 = graph.tanh %3 : tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:    %4 = graph.reshape %p_1 shape = [1, 3] : tensor<3xf32> -> tensor<1x3xf32>
// CHECK-NEXT:    %5 = graph.reshape %p shape = [1, 3] : tensor<3xf32> -> tensor<1x3xf32>
// CHECK-NEXT:    %ys = graph.concat %4, %5 axis = 0 : tensor<1x3xf32>, tensor<1x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    func.return %ys : tensor<2x3xf32>
// CHECK-NEXT:  }
func.func @main(%xs: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %ys = graph.scan 2 iterations from() each(%xs) all() backward [0, 1] : (tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%x: tensor<3xf32>):
    %p = graph.tanh %x : tensor<3xf32> -> tensor<3xf32>
    graph.yield %p : tensor<3xf32>
  }
  func.return %ys : tensor<2x3xf32>
}
