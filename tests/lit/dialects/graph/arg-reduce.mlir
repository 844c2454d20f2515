// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @argmax(
// CHECK-NEXT: %0 = graph.argmax %x axis = 1 : tensor<2x3xf32> -> tensor<2xi64>
// CHECK-NEXT: %1 = graph.argmax %i axis = -2 keepdims = true last = true : tensor<2x3xui8> -> tensor<1x3xi64>
// CHECK-NEXT: %2 = graph.argmax %x axis = 0 last = true : tensor<2x3xf32> -> tensor<3xi64>
func.func @argmax(%x: tensor<2x3xf32>, %i: tensor<2x3xui8>) {
  %0 = graph.argmax %x axis = 1 : tensor<2x3xf32> -> tensor<2xi64>
  %1 = graph.argmax %i axis = -2 keepdims = true last = true : tensor<2x3xui8> -> tensor<1x3xi64>
  %2 = graph.argmax %x axis = 0 keepdims = false last = true : tensor<2x3xf32> -> tensor<3xi64>
  func.return
}

// CHECK-LABEL: func.func @argmin(
// CHECK-NEXT: %0 = graph.argmin %x axis = 0 : tensor<4xf64> -> tensor<i64>
// CHECK-NEXT: %1 = graph.argmin %e axis = 1 keepdims = true : tensor<0x3xi64> -> tensor<0x1xi64>
func.func @argmin(%x: tensor<4xf64>, %e: tensor<0x3xi64>) {
  %0 = graph.argmin %x axis = 0 : tensor<4xf64> -> tensor<i64>
  %1 = graph.argmin %e axis = 1 keepdims = true : tensor<0x3xi64> -> tensor<0x1xi64>
  func.return
}
