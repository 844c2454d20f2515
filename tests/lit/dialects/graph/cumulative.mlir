// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @sum(
// CHECK-NEXT: %0 = graph.cumsum %x axis = 1 : tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %1 = graph.cumsum %i axis = -2 exclusive = true reverse = true : tensor<2x3xui8> -> tensor<2x3xui8>
// CHECK-NEXT: %2 = graph.cumsum %x axis = 0 reverse = true : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @sum(%x: tensor<2x3xf32>, %i: tensor<2x3xui8>) {
  %0 = graph.cumsum %x axis = 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.cumsum %i axis = -2 exclusive = true reverse = true : tensor<2x3xui8> -> tensor<2x3xui8>
  %2 = graph.cumsum %x axis = 0 exclusive = false reverse = true : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @prod(
// CHECK-NEXT: %0 = graph.cumprod %x axis = 0 : tensor<0xf64> -> tensor<0xf64>
// CHECK-NEXT: %1 = graph.cumprod %i axis = 1 exclusive = true : tensor<2x3xi64> -> tensor<2x3xi64>
func.func @prod(%x: tensor<0xf64>, %i: tensor<2x3xi64>) {
  %0 = graph.cumprod %x axis = 0 : tensor<0xf64> -> tensor<0xf64>
  %1 = graph.cumprod %i axis = 1 exclusive = true : tensor<2x3xi64> -> tensor<2x3xi64>
  func.return
}
