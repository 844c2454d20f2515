// RUN: inarch-opt %s --verify-diagnostics -p inline-calls

func.func private @even(%a: tensor<2xf32>) -> tensor<2xf32> {
  %r = graph.call @odd(%a) : tensor<2xf32> -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}
func.func private @odd(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{expected functions that end, found @even, which calls itself}}
  %r = graph.call @even(%a) : tensor<2xf32> -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %r = graph.call @even(%x) : tensor<2xf32> -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}
