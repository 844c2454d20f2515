// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: graph.softmax %x axis = 1 : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @softmax(%x: tensor<2x3xf32>) {
  %0 = graph.softmax %x axis = 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @softmax_from_the_end(
// CHECK-NEXT: graph.softmax %x axis = -2 : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @softmax_from_the_end(%x: tensor<2x3xf32>) {
  %0 = graph.softmax %x axis = -2 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @softmax_of_a_scalar(
// CHECK-NEXT: graph.softmax %x axis = 0 : tensor<f32> -> tensor<f32>
func.func @softmax_of_a_scalar(%x: tensor<f32>) {
  %0 = graph.softmax %x axis = 0 : tensor<f32> -> tensor<f32>
  func.return
}

// CHECK-LABEL: func.func @log_softmax(
// CHECK-NEXT: graph.log_softmax %x axis = 1 : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @log_softmax(%x: tensor<2x3xf32>) {
  %0 = graph.log_softmax %x axis = 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @log_softmax_from_the_end(
// CHECK-NEXT: graph.log_softmax %x axis = -2 : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @log_softmax_from_the_end(%x: tensor<2x3xf32>) {
  %0 = graph.log_softmax %x axis = -2 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @log_softmax_of_a_scalar(
// CHECK-NEXT: graph.log_softmax %x axis = 0 : tensor<f32> -> tensor<f32>
func.func @log_softmax_of_a_scalar(%x: tensor<f32>) {
  %0 = graph.log_softmax %x axis = 0 : tensor<f32> -> tensor<f32>
  func.return
}
