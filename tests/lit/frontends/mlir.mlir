// MLIR text is a model like any other: it is compiled, and written out at any level.
// RUN: inarch compile %s --emit=graph | filecheck %s

// CHECK: func.func @main(%x: tensor<2xf32> {inarch.name = "x"}) -> (tensor<2xf32> {inarch.name = "y"}) {
// CHECK-NEXT: %y = graph.neg %x : tensor<2xf32> -> tensor<2xf32>
func.func @main(%x: tensor<2xf32> {inarch.name = "x"}) -> (tensor<2xf32> {inarch.name = "y"}) {
  %y = graph.neg %x : tensor<2xf32> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
