// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @bitwise_and(
// CHECK-NEXT: graph.bitwise_and %a, %b : tensor<2x1xi16>, tensor<3xi16> -> tensor<2x3xi16>
func.func @bitwise_and(%a: tensor<2x1xi16>, %b: tensor<3xi16>) {
  %0 = graph.bitwise_and %a, %b : tensor<2x1xi16>, tensor<3xi16> -> tensor<2x3xi16>
  func.return
}

// CHECK-LABEL: func.func @bitwise_or(
// CHECK-NEXT: graph.bitwise_or %a, %b : tensor<2x1xi16>, tensor<3xi16> -> tensor<2x3xi16>
func.func @bitwise_or(%a: tensor<2x1xi16>, %b: tensor<3xi16>) {
  %0 = graph.bitwise_or %a, %b : tensor<2x1xi16>, tensor<3xi16> -> tensor<2x3xi16>
  func.return
}

// CHECK-LABEL: func.func @bitwise_xor(
// CHECK-NEXT: graph.bitwise_xor %a, %b : tensor<2x1xi16>, tensor<3xi16> -> tensor<2x3xi16>
func.func @bitwise_xor(%a: tensor<2x1xi16>, %b: tensor<3xi16>) {
  %0 = graph.bitwise_xor %a, %b : tensor<2x1xi16>, tensor<3xi16> -> tensor<2x3xi16>
  func.return
}

// CHECK-LABEL: func.func @shift_left(
// CHECK-NEXT: graph.shift_left %a, %b : tensor<2x1xi16>, tensor<3xi16> -> tensor<2x3xi16>
func.func @shift_left(%a: tensor<2x1xi16>, %b: tensor<3xi16>) {
  %0 = graph.shift_left %a, %b : tensor<2x1xi16>, tensor<3xi16> -> tensor<2x3xi16>
  func.return
}

// CHECK-LABEL: func.func @shift_right(
// CHECK-NEXT: graph.shift_right %a, %b : tensor<2x1xi16>, tensor<3xi16> -> tensor<2x3xi16>
func.func @shift_right(%a: tensor<2x1xi16>, %b: tensor<3xi16>) {
  %0 = graph.shift_right %a, %b : tensor<2x1xi16>, tensor<3xi16> -> tensor<2x3xi16>
  func.return
}

// CHECK-LABEL: func.func @bitwise_not(
// CHECK-NEXT: graph.bitwise_not %x : tensor<4xui8> -> tensor<4xui8>
func.func @bitwise_not(%x: tensor<4xui8>) {
  %0 = graph.bitwise_not %x : tensor<4xui8> -> tensor<4xui8>
  func.return
}
