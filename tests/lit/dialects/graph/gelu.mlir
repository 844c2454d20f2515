// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @exact(
// CHECK-NEXT: graph.gelu %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @exact(%x: tensor<2x3xf32>) {
  %0 = graph.gelu %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @exact_is_the_default(
// CHECK-NEXT: graph.gelu %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @exact_is_the_default(%x: tensor<2x3xf32>) {
  %0 = graph.gelu %x approximate = "none" : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @tanh(
// CHECK-NEXT: graph.gelu %x approximate = "tanh" : tensor<0xf64> -> tensor<0xf64>
func.func @tanh(%x: tensor<0xf64>) {
  %0 = graph.gelu %x approximate = "tanh" : tensor<0xf64> -> tensor<0xf64>
  func.return
}
