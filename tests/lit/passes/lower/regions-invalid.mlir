// RUN: inarch-opt %s --split-input-file -p graph-to-loop --verify-diagnostics

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{'graph.scan': expected a body that is one call; run outline-bodies before}}
  %0 = graph.scan 3 iterations from(%x) each() all() backward [] : (tensor<2xf32>) -> (tensor<2xf32>) {
  ^bb0(%s: tensor<2xf32>):
    %1 = graph.tanh %s : tensor<2xf32> -> tensor<2xf32>
    graph.yield %1 : tensor<2xf32>
  }
  func.return %0 : tensor<2xf32>
}
