// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @tan(
// CHECK-NEXT: graph.tan %x : tensor<2x3xf64> -> tensor<2x3xf64>
func.func @tan(%x: tensor<2x3xf64>) {
  %0 = graph.tan %x : tensor<2x3xf64> -> tensor<2x3xf64>
  func.return
}

// CHECK-LABEL: func.func @asin(
// CHECK-NEXT: graph.asin %x : tensor<2x3xf64> -> tensor<2x3xf64>
func.func @asin(%x: tensor<2x3xf64>) {
  %0 = graph.asin %x : tensor<2x3xf64> -> tensor<2x3xf64>
  func.return
}

// CHECK-LABEL: func.func @acos(
// CHECK-NEXT: graph.acos %x : tensor<2x3xf64> -> tensor<2x3xf64>
func.func @acos(%x: tensor<2x3xf64>) {
  %0 = graph.acos %x : tensor<2x3xf64> -> tensor<2x3xf64>
  func.return
}

// CHECK-LABEL: func.func @atan(
// CHECK-NEXT: graph.atan %x : tensor<2x3xf64> -> tensor<2x3xf64>
func.func @atan(%x: tensor<2x3xf64>) {
  %0 = graph.atan %x : tensor<2x3xf64> -> tensor<2x3xf64>
  func.return
}

// CHECK-LABEL: func.func @sinh(
// CHECK-NEXT: graph.sinh %x : tensor<2x3xf64> -> tensor<2x3xf64>
func.func @sinh(%x: tensor<2x3xf64>) {
  %0 = graph.sinh %x : tensor<2x3xf64> -> tensor<2x3xf64>
  func.return
}

// CHECK-LABEL: func.func @cosh(
// CHECK-NEXT: graph.cosh %x : tensor<2x3xf64> -> tensor<2x3xf64>
func.func @cosh(%x: tensor<2x3xf64>) {
  %0 = graph.cosh %x : tensor<2x3xf64> -> tensor<2x3xf64>
  func.return
}

// CHECK-LABEL: func.func @asinh(
// CHECK-NEXT: graph.asinh %x : tensor<2x3xf64> -> tensor<2x3xf64>
func.func @asinh(%x: tensor<2x3xf64>) {
  %0 = graph.asinh %x : tensor<2x3xf64> -> tensor<2x3xf64>
  func.return
}

// CHECK-LABEL: func.func @acosh(
// CHECK-NEXT: graph.acosh %x : tensor<2x3xf64> -> tensor<2x3xf64>
func.func @acosh(%x: tensor<2x3xf64>) {
  %0 = graph.acosh %x : tensor<2x3xf64> -> tensor<2x3xf64>
  func.return
}

// CHECK-LABEL: func.func @atanh(
// CHECK-NEXT: graph.atanh %x : tensor<2x3xf64> -> tensor<2x3xf64>
func.func @atanh(%x: tensor<2x3xf64>) {
  %0 = graph.atanh %x : tensor<2x3xf64> -> tensor<2x3xf64>
  func.return
}
