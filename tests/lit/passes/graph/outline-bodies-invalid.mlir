// RUN: inarch-opt %s --split-input-file -p outline-bodies --verify-diagnostics

func.func private @import(tensor<2xf32>) -> tensor<2xf32>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.scan 3 iterations from(%x) each() all() backward [] : (tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%s: tensor<2xf32>):
    %1 = graph.tanh %s : tensor<2xf32> -> tensor<2xf32>
    // expected-error @below {{expected graph ops in the body of an op, found a call of @import; run inline-calls before, or call it outside}}
    %2 = graph.call @import(%1) : tensor<2xf32> -> tensor<2xf32>
    graph.yield %2 : tensor<2xf32>
  }
  func.return %0 : tensor<2xf32>
}
