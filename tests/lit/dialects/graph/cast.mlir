// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @f32_to_f64(
// CHECK-NEXT: graph.cast %x to f64 : tensor<2x3xf32> -> tensor<2x3xf64>
func.func @f32_to_f64(%x: tensor<2x3xf32>) {
  %0 = graph.cast %x to f64 : tensor<2x3xf32> -> tensor<2x3xf64>
  func.return
}

// CHECK-LABEL: func.func @f32_to_i1(
// CHECK-NEXT: graph.cast %x to i1 : tensor<2x3xf32> -> tensor<2x3xi1>
func.func @f32_to_i1(%x: tensor<2x3xf32>) {
  %0 = graph.cast %x to i1 : tensor<2x3xf32> -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: func.func @f32_to_i8(
// CHECK-NEXT: graph.cast %x to i8 : tensor<2x3xf32> -> tensor<2x3xi8>
func.func @f32_to_i8(%x: tensor<2x3xf32>) {
  %0 = graph.cast %x to i8 : tensor<2x3xf32> -> tensor<2x3xi8>
  func.return
}

// CHECK-LABEL: func.func @f32_to_i64(
// CHECK-NEXT: graph.cast %x to i64 : tensor<2x3xf32> -> tensor<2x3xi64>
func.func @f32_to_i64(%x: tensor<2x3xf32>) {
  %0 = graph.cast %x to i64 : tensor<2x3xf32> -> tensor<2x3xi64>
  func.return
}

// CHECK-LABEL: func.func @f32_to_ui8(
// CHECK-NEXT: graph.cast %x to ui8 : tensor<2x3xf32> -> tensor<2x3xui8>
func.func @f32_to_ui8(%x: tensor<2x3xf32>) {
  %0 = graph.cast %x to ui8 : tensor<2x3xf32> -> tensor<2x3xui8>
  func.return
}

// CHECK-LABEL: func.func @f32_to_ui64(
// CHECK-NEXT: graph.cast %x to ui64 : tensor<2x3xf32> -> tensor<2x3xui64>
func.func @f32_to_ui64(%x: tensor<2x3xf32>) {
  %0 = graph.cast %x to ui64 : tensor<2x3xf32> -> tensor<2x3xui64>
  func.return
}

// CHECK-LABEL: func.func @bools_to_f32(
// CHECK-NEXT: graph.cast %x to f32 : tensor<0xi1> -> tensor<0xf32>
func.func @bools_to_f32(%x: tensor<0xi1>) {
  %0 = graph.cast %x to f32 : tensor<0xi1> -> tensor<0xf32>
  func.return
}
