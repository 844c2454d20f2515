// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @add_broadcasts(
// CHECK-NEXT: graph.add %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
func.func @add_broadcasts(%a: tensor<2x1xf32>, %b: tensor<3xf32>) {
  %0 = graph.add %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @sub_broadcasts(
// CHECK-NEXT: graph.sub %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
func.func @sub_broadcasts(%a: tensor<2x1xf32>, %b: tensor<3xf32>) {
  %0 = graph.sub %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @mul_broadcasts(
// CHECK-NEXT: graph.mul %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
func.func @mul_broadcasts(%a: tensor<2x1xf32>, %b: tensor<3xf32>) {
  %0 = graph.mul %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @div_broadcasts(
// CHECK-NEXT: graph.div %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
func.func @div_broadcasts(%a: tensor<2x1xf32>, %b: tensor<3xf32>) {
  %0 = graph.div %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @maximum_broadcasts(
// CHECK-NEXT: graph.maximum %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
func.func @maximum_broadcasts(%a: tensor<2x1xf32>, %b: tensor<3xf32>) {
  %0 = graph.maximum %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @minimum_broadcasts(
// CHECK-NEXT: graph.minimum %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
func.func @minimum_broadcasts(%a: tensor<2x1xf32>, %b: tensor<3xf32>) {
  %0 = graph.minimum %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @pow_broadcasts(
// CHECK-NEXT: graph.pow %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
func.func @pow_broadcasts(%a: tensor<2x1xf32>, %b: tensor<3xf32>) {
  %0 = graph.pow %a, %b : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// `fmod` is false unless written.
// CHECK-LABEL: func.func @mod_of_integers_has_the_sign_of_the_divisor(
// CHECK-NEXT: graph.mod %a, %b : tensor<4xui8>, tensor<4xui8> -> tensor<4xui8>
func.func @mod_of_integers_has_the_sign_of_the_divisor(%a: tensor<4xui8>, %b: tensor<4xui8>) {
  %0 = graph.mod %a, %b : tensor<4xui8>, tensor<4xui8> -> tensor<4xui8>
  func.return
}

// CHECK-LABEL: func.func @mod_of_floats_is_a_remainder(
// CHECK-NEXT: graph.mod %a, %b fmod = true : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
func.func @mod_of_floats_is_a_remainder(%a: tensor<3xf32>, %b: tensor<3xf32>) {
  %0 = graph.mod %a, %b fmod = true : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// CHECK-LABEL: func.func @scalars(
// CHECK-NEXT: graph.add %a, %b : tensor<f64>, tensor<f64> -> tensor<f64>
func.func @scalars(%a: tensor<f64>, %b: tensor<f64>) {
  %0 = graph.add %a, %b : tensor<f64>, tensor<f64> -> tensor<f64>
  func.return
}

// CHECK-LABEL: func.func @empty_tensors(
// CHECK-NEXT: graph.mul %a, %b : tensor<0x3xi64>, tensor<3xi64> -> tensor<0x3xi64>
func.func @empty_tensors(%a: tensor<0x3xi64>, %b: tensor<3xi64>) {
  %0 = graph.mul %a, %b : tensor<0x3xi64>, tensor<3xi64> -> tensor<0x3xi64>
  func.return
}
