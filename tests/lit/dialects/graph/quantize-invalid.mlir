// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1
func.func @quantize_f64(%x: tensor<2xf64>, %s: tensor<f32>) {
  // expected-error @below {{'graph.quantize' C1: expected x of dtype f32, found f64}}
  %0 = graph.quantize %x scale %s to i8 : tensor<2xf64>, tensor<f32> -> tensor<2xi8>
  func.return
}

// -----

// C1
func.func @dequantize_i64(%x: tensor<2xi64>, %s: tensor<f32>) {
  // expected-error @below {{'graph.dequantize' C1: expected x of dtype i8, ui8, i16, ui16, i32, found i64}}
  %0 = graph.dequantize %x scale %s : tensor<2xi64>, tensor<f32> -> tensor<2xf32>
  func.return
}

// -----

// C2
func.func @quantize_by_an_integer(%x: tensor<2xf32>, %s: tensor<i32>) {
  // expected-error @below {{'graph.quantize' C2: expected a scale of dtype f32, found i32}}
  %0 = graph.quantize %x scale %s to i8 : tensor<2xf32>, tensor<i32> -> tensor<2xi8>
  func.return
}

// -----

// C2
func.func @quantize_to_f32(%x: tensor<2xf32>, %s: tensor<f32>) {
  // expected-error @below {{'graph.quantize' C2: expected to = i8, ui8, i16, ui16, i32, found f32}}
  %0 = graph.quantize %x scale %s to f32 : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return
}

// -----

// C2
func.func @dequantize_to_f64(%x: tensor<2xi8>, %s: tensor<f64>) {
  // expected-error @below {{'graph.dequantize' C2: expected a scale of dtype f32 or i32, found f64}}
  %0 = graph.dequantize %x scale %s : tensor<2xi8>, tensor<f64> -> tensor<2xf64>
  func.return
}

// -----

// C3
func.func @zero_of_another_dtype(%x: tensor<2xf32>, %s: tensor<f32>, %z: tensor<ui8>) {
  // expected-error @below {{'graph.quantize' C3: expected a zero of dtype i8, found ui8}}
  %0 = graph.quantize %x scale %s zero %z to i8 : tensor<2xf32>, tensor<f32>, tensor<ui8> -> tensor<2xi8>
  func.return
}

// -----

// C4
func.func @axis_that_is_none(%x: tensor<2x3xi8>, %s: tensor<3xf32>) {
  // expected-error @below {{'graph.dequantize' C4: expected an axis of a tensor of rank 2, found -3}}
  %0 = graph.dequantize %x scale %s axis = -3 : tensor<2x3xi8>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// C5
func.func @scales_of_another_axis(%x: tensor<2x3xi8>, %s: tensor<3xf32>) {
  // expected-error @below {{'graph.dequantize' C5: expected a scale of shape () or (2,), found (3,)}}
  %0 = graph.dequantize %x scale %s axis = 0 : tensor<2x3xi8>, tensor<3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// C5
func.func @zeros_without_an_axis(%x: tensor<2x3xi8>, %s: tensor<f32>, %z: tensor<3xi8>) {
  // expected-error @below {{'graph.dequantize' C5: expected a zero of shape () without an axis, found (3,)}}
  %0 = graph.dequantize %x scale %s zero %z : tensor<2x3xi8>, tensor<f32>, tensor<3xi8> -> tensor<2x3xf32>
  func.return
}
