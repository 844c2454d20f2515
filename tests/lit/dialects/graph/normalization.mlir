// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @layer_norm(
// CHECK-NEXT: graph.layer_norm %x, %s, %b axis = -1 epsilon = 1.000000e-05 : tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<2x3x4xf32>
func.func @layer_norm(%x: tensor<2x3x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) {
  %0 = graph.layer_norm %x, %s, %b axis = -1 epsilon = 1.000000e-05 : tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<2x3x4xf32>
  func.return
}

// CHECK-LABEL: func.func @layer_norm_without_bias(
// CHECK-NEXT: graph.layer_norm %x, %s axis = 1 epsilon = 1.000000e-05 : tensor<2x3x4xf32>, tensor<3x4xf32> -> tensor<2x3x4xf32>
func.func @layer_norm_without_bias(%x: tensor<2x3x4xf32>, %s: tensor<3x4xf32>) {
  %0 = graph.layer_norm %x, %s axis = 1 epsilon = 1.000000e-05 : tensor<2x3x4xf32>, tensor<3x4xf32> -> tensor<2x3x4xf32>
  func.return
}

// CHECK-LABEL: func.func @layer_norm_of_a_scalar(
// CHECK-NEXT: graph.layer_norm %x, %s axis = 0 epsilon = 1.000000e-05 : tensor<f64>, tensor<f64> -> tensor<f64>
func.func @layer_norm_of_a_scalar(%x: tensor<f64>, %s: tensor<f64>) {
  %0 = graph.layer_norm %x, %s axis = 0 epsilon = 1.000000e-05 : tensor<f64>, tensor<f64> -> tensor<f64>
  func.return
}

// CHECK-LABEL: func.func @batch_norm(
// CHECK-NEXT: graph.batch_norm %x, %s, %b, %m, %v epsilon = 1.000000e-05 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3x4xf32>
func.func @batch_norm(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) {
  %0 = graph.batch_norm %x, %s, %b, %m, %v epsilon = 1.000000e-05 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3x4xf32>
  func.return
}

// CHECK-LABEL: func.func @batch_norm_of_a_matrix(
// CHECK-NEXT: graph.batch_norm %x, %s, %b, %m, %v epsilon = 1.000000e-05 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>
func.func @batch_norm_of_a_matrix(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) {
  %0 = graph.batch_norm %x, %s, %b, %m, %v epsilon = 1.000000e-05 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}
