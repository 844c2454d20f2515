// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @equal(
// CHECK-NEXT: graph.equal %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
func.func @equal(%a: tensor<2x1xui8>, %b: tensor<3xui8>) {
  %0 = graph.equal %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: func.func @not_equal(
// CHECK-NEXT: graph.not_equal %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
func.func @not_equal(%a: tensor<2x1xui8>, %b: tensor<3xui8>) {
  %0 = graph.not_equal %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: func.func @less(
// CHECK-NEXT: graph.less %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
func.func @less(%a: tensor<2x1xui8>, %b: tensor<3xui8>) {
  %0 = graph.less %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: func.func @less_equal(
// CHECK-NEXT: graph.less_equal %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
func.func @less_equal(%a: tensor<2x1xui8>, %b: tensor<3xui8>) {
  %0 = graph.less_equal %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: func.func @greater(
// CHECK-NEXT: graph.greater %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
func.func @greater(%a: tensor<2x1xui8>, %b: tensor<3xui8>) {
  %0 = graph.greater %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: func.func @greater_equal(
// CHECK-NEXT: graph.greater_equal %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
func.func @greater_equal(%a: tensor<2x1xui8>, %b: tensor<3xui8>) {
  %0 = graph.greater_equal %a, %b : tensor<2x1xui8>, tensor<3xui8> -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: func.func @equal_of_bools(
// CHECK-NEXT: graph.equal %a, %b : tensor<3xi1>, tensor<3xi1> -> tensor<3xi1>
func.func @equal_of_bools(%a: tensor<3xi1>, %b: tensor<3xi1>) {
  %0 = graph.equal %a, %b : tensor<3xi1>, tensor<3xi1> -> tensor<3xi1>
  func.return
}

// CHECK-LABEL: func.func @logical_and(
// CHECK-NEXT: graph.logical_and %a, %b : tensor<2x1xi1>, tensor<3xi1> -> tensor<2x3xi1>
func.func @logical_and(%a: tensor<2x1xi1>, %b: tensor<3xi1>) {
  %0 = graph.logical_and %a, %b : tensor<2x1xi1>, tensor<3xi1> -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: func.func @logical_or(
// CHECK-NEXT: graph.logical_or %a, %b : tensor<2x1xi1>, tensor<3xi1> -> tensor<2x3xi1>
func.func @logical_or(%a: tensor<2x1xi1>, %b: tensor<3xi1>) {
  %0 = graph.logical_or %a, %b : tensor<2x1xi1>, tensor<3xi1> -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: func.func @logical_xor(
// CHECK-NEXT: graph.logical_xor %a, %b : tensor<2x1xi1>, tensor<3xi1> -> tensor<2x3xi1>
func.func @logical_xor(%a: tensor<2x1xi1>, %b: tensor<3xi1>) {
  %0 = graph.logical_xor %a, %b : tensor<2x1xi1>, tensor<3xi1> -> tensor<2x3xi1>
  func.return
}

// CHECK-LABEL: func.func @logical_not(
// CHECK-NEXT: graph.logical_not %x : tensor<i1> -> tensor<i1>
func.func @logical_not(%x: tensor<i1>) {
  %0 = graph.logical_not %x : tensor<i1> -> tensor<i1>
  func.return
}
