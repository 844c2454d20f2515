// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1
func.func @bits(%w: tensor<6x8xi32>, %s: tensor<6x2xf32>) {
  // expected-error @below {{'graph.dequantize_packed' C1: expected bits = 2, 4 or 8, found 3}}
  %0 = graph.dequantize_packed %w scale %s bits = 3 : tensor<6x8xi32>, tensor<6x2xf32> -> tensor<6x80xf32>
  func.return
}

// -----

// C2
func.func @words(%w: tensor<6x8xui8>, %s: tensor<6x2xf32>) {
  // expected-error @below {{'graph.dequantize_packed' C2: expected words of i32 and scales of f32, found ui8 and f32}}
  %0 = graph.dequantize_packed %w scale %s bits = 4 : tensor<6x8xui8>, tensor<6x2xf32> -> tensor<6x64xf32>
  func.return
}

// -----

// C3
func.func @blocks(%w: tensor<6x8xi32>, %s: tensor<6x3xf32>) {
  // expected-error @below {{'graph.dequantize_packed' C3: expected a scale for each block of words of shape (6, 8), found (6, 3)}}
  %0 = graph.dequantize_packed %w scale %s bits = 4 : tensor<6x8xi32>, tensor<6x3xf32> -> tensor<6x64xf32>
  func.return
}

// -----

// C3
func.func @rank(%x: tensor<3x64xf32>, %w: tensor<1x6x8xi32>, %s: tensor<1x6x2xf32>) {
  // expected-error @below {{'graph.matmul_packed' C3: expected words of rank 2, found 3}}
  %0 = graph.matmul_packed %x weights %w scale %s bits = 4 : tensor<3x64xf32>, tensor<1x6x8xi32>, tensor<1x6x2xf32> -> tensor<3x6xf32>
  func.return
}

// -----

// C4
func.func @zeros(%w: tensor<6x8xi32>, %s: tensor<6x2xf32>, %z: tensor<6x2xui8>) {
  // expected-error @below {{'graph.dequantize_packed' C4: expected zero points of f32 or i8, found ui8}}
  %0 = graph.dequantize_packed %w scale %s zero %z bits = 4 : tensor<6x8xi32>, tensor<6x2xf32>, tensor<6x2xui8> -> tensor<6x64xf32>
  func.return
}

// -----

// C4
func.func @zero(%w: tensor<6x8xi32>, %s: tensor<6x2xf32>, %z: tensor<6x1xi8>) {
  // expected-error @below {{'graph.dequantize_packed' C4: expected zero points of shape (6, 2), found (6, 1)}}
  %0 = graph.dequantize_packed %w scale %s zero %z bits = 4 : tensor<6x8xi32>, tensor<6x2xf32>, tensor<6x1xi8> -> tensor<6x64xf32>
  func.return
}

// -----

// C5
func.func @columns(%x: tensor<3x32xf32>, %w: tensor<6x8xi32>, %s: tensor<6x2xf32>) {
  // expected-error @below {{'graph.matmul_packed' C5: expected x of f32 with 64 columns, found f32 of shape (3, 32)}}
  %0 = graph.matmul_packed %x weights %w scale %s bits = 4 : tensor<3x32xf32>, tensor<6x8xi32>, tensor<6x2xf32> -> tensor<3x6xf32>
  func.return
}
