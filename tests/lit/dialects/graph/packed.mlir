// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @weights(
// CHECK-NEXT: graph.dequantize_packed %w scale %s zero %z bits = 4 : tensor<6x8xi32>, tensor<6x2xf32>, tensor<6x2xi8> -> tensor<6x64xf32>
// CHECK-NEXT: graph.dequantize_packed %w scale %s bits = 8 : tensor<6x8xi32>, tensor<6x2xf32> -> tensor<6x32xf32>
func.func @weights(%w: tensor<6x8xi32>, %s: tensor<6x2xf32>, %z: tensor<6x2xi8>) {
  %0 = graph.dequantize_packed %w scale %s zero %z bits = 4 : tensor<6x8xi32>, tensor<6x2xf32>, tensor<6x2xi8> -> tensor<6x64xf32>
  %1 = graph.dequantize_packed %w scale %s bits = 8 : tensor<6x8xi32>, tensor<6x2xf32> -> tensor<6x32xf32>
  func.return
}

// CHECK-LABEL: func.func @product(
// CHECK-NEXT: graph.matmul_packed %x weights %w scale %s zero %z bits = 4 : tensor<3x64xf32>, tensor<6x8xi32>, tensor<6x2xf32>, tensor<6x2xf32> -> tensor<3x6xf32>
// CHECK-NEXT: graph.matmul_packed %x weights %w scale %s bits = 4 : tensor<3x64xf32>, tensor<6x8xi32>, tensor<6x2xf32> -> tensor<3x6xf32>
func.func @product(%x: tensor<3x64xf32>, %w: tensor<6x8xi32>, %s: tensor<6x2xf32>, %z: tensor<6x2xf32>) {
  %0 = graph.matmul_packed %x weights %w scale %s zero %z bits = 4 : tensor<3x64xf32>, tensor<6x8xi32>, tensor<6x2xf32>, tensor<6x2xf32> -> tensor<3x6xf32>
  %1 = graph.matmul_packed %x weights %w scale %s bits = 4 : tensor<3x64xf32>, tensor<6x8xi32>, tensor<6x2xf32> -> tensor<3x6xf32>
  func.return
}
