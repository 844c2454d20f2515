// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @of_a_tensor(
// CHECK-NEXT: graph.quantize %x scale %s zero %z to ui8 : tensor<2x3xf32>, tensor<f32>, tensor<ui8> -> tensor<2x3xui8>
// CHECK-NEXT: graph.dequantize %0 scale %s zero %z : tensor<2x3xui8>, tensor<f32>, tensor<ui8> -> tensor<2x3xf32>
func.func @of_a_tensor(%x: tensor<2x3xf32>, %s: tensor<f32>, %z: tensor<ui8>) {
  %0 = graph.quantize %x scale %s zero %z to ui8 : tensor<2x3xf32>, tensor<f32>, tensor<ui8> -> tensor<2x3xui8>
  %1 = graph.dequantize %0 scale %s zero %z : tensor<2x3xui8>, tensor<f32>, tensor<ui8> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @of_an_axis(
// CHECK-NEXT: graph.quantize %x scale %s axis = -1 to i8 : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xi8>
// CHECK-NEXT: graph.dequantize %0 scale %s zero %z axis = 1 : tensor<2x3xi8>, tensor<3xf32>, tensor<i8> -> tensor<2x3xf32>
func.func @of_an_axis(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %z: tensor<i8>) {
  %0 = graph.quantize %x scale %s axis = -1 to i8 : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xi8>
  %1 = graph.dequantize %0 scale %s zero %z axis = 1 : tensor<2x3xi8>, tensor<3xf32>, tensor<i8> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @as_integers(
// CHECK-NEXT: graph.dequantize %x scale %s zero %z axis = 0 : tensor<2x0xi8>, tensor<i32>, tensor<2xi8> -> tensor<2x0xi32>
func.func @as_integers(%x: tensor<2x0xi8>, %s: tensor<i32>, %z: tensor<2xi8>) {
  %0 = graph.dequantize %x scale %s zero %z axis = 0 : tensor<2x0xi8>, tensor<i32>, tensor<2xi8> -> tensor<2x0xi32>
  func.return
}
