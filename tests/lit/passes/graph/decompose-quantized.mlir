// RUN: inarch-opt %s -p fold-constants | filecheck %s --check-prefix=WHOLE
// RUN: inarch-opt %s -p decompose-quantized | filecheck %s
// RUN: inarch-opt %s -p decompose-composites | filecheck %s --check-prefix=PLAIN

// The weights are there as they are in the model until backends were asked: then they fold.

// WHOLE-LABEL: func.func @weights
// WHOLE: %q = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
// WHOLE: graph.dequantize %q scale %s zero %z axis = 0

// CHECK-LABEL: func.func @weights
// CHECK-NEXT: %[[W:.*]] = graph.constant dense<[[0.000000e+00, 5.000000e-01], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-NEXT: graph.matmul %x, %[[W]]
func.func @weights(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %q = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %s = graph.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %z = graph.constant dense<[1, 0]> : tensor<2xi8>
  %w = graph.dequantize %q scale %s zero %z axis = 0 : tensor<2x2xi8>, tensor<2xf32>, tensor<2xi8> -> tensor<2x2xf32>
  %y = graph.matmul %x, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}

// A batch norm is folded into weights that were quantized.

// CHECK-LABEL: func.func @batch_norm
// CHECK-NOT: graph.batch_norm
// CHECK: graph.conv
// CHECK-NEXT: return
func.func @batch_norm(%x: tensor<1x1x3xf32>) -> tensor<1x1x3xf32> {
  %q = graph.constant dense<4> : tensor<1x1x1xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %n = graph.constant dense<2.0> : tensor<1xf32>
  %w = graph.dequantize %q scale %s : tensor<1x1x1xi8>, tensor<f32> -> tensor<1x1x1xf32>
  %0 = graph.conv %x, %w strides = [1] pads = [0, 0] dilations = [1] groups = 1 : tensor<1x1x3xf32>, tensor<1x1x1xf32> -> tensor<1x1x3xf32>
  %1 = graph.batch_norm %0, %n, %n, %n, %n epsilon = 1.0 : tensor<1x1x3xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32> -> tensor<1x1x3xf32>
  func.return %1 : tensor<1x1x3xf32>
}

// Nothing is divided or multiplied by 1, and without a zero point nothing added.

// PLAIN-LABEL: func.func @by_one
// PLAIN: %[[A:.*]] = graph.round %x
// PLAIN-NEXT: %[[Q:.*]] = graph.cast %[[A]] to i8
// PLAIN-NEXT: %[[W:.*]] = graph.cast %[[Q]] to i32
// PLAIN-NEXT: return %[[W]]
func.func @by_one(%x: tensor<2xf32>) -> tensor<2xi32> {
  %f = graph.constant dense<1.0> : tensor<f32>
  %i = graph.constant dense<1> : tensor<i32>
  %0 = graph.quantize %x scale %f to i8 : tensor<2xf32>, tensor<f32> -> tensor<2xi8>
  %1 = graph.dequantize %0 scale %i : tensor<2xi8>, tensor<i32> -> tensor<2xi32>
  func.return %1 : tensor<2xi32>
}

// CHECK-LABEL: func.func @by_two
// CHECK: dense<8.000000e+00> : tensor<2xf32>
func.func @by_two() -> tensor<2xf32> {
  %q = graph.constant dense<4> : tensor<2xi8>
  %s = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.dequantize %q scale %s : tensor<2xi8>, tensor<f32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// PLAIN-LABEL: func.func @of_a_tensor
// PLAIN-NEXT: %[[D:.*]] = graph.div %x, %s
// PLAIN-NEXT: %[[R:.*]] = graph.round %[[D]]
// PLAIN-NEXT: %[[Z:.*]] = graph.cast %z to f32
// PLAIN-NEXT: %[[A:.*]] = graph.add %[[R]], %[[Z]]
// PLAIN-NEXT: %[[Q:.*]] = graph.cast %[[A]] to ui8
// PLAIN-NEXT: return %[[Q]]
func.func @of_a_tensor(%x: tensor<2xf32>, %s: tensor<f32>, %z: tensor<ui8>) -> tensor<2xui8> {
  %0 = graph.quantize %x scale %s zero %z to ui8 : tensor<2xf32>, tensor<f32>, tensor<ui8> -> tensor<2xui8>
  func.return %0 : tensor<2xui8>
}
