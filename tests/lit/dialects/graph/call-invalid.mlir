// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C0, a result
func.func @result(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.call' C0: expected a static shape, found tensor<?xf32>}}
  %0 = graph.call @result(%x) : tensor<2x3xf32> -> tensor<?xf32>
  func.return
}

// -----

// A callee that is not there
func.func @missing(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.call' callee refers to no symbol @foo; known: @missing}}
  %0 = graph.call @foo(%x) : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}
