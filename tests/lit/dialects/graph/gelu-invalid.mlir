// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1
func.func @integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.gelu' C1: expected a float dtype, found i32}}
  %0 = graph.gelu %x : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// C2
func.func @unknown_form(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.gelu' C2: expected approximate = "none" or "tanh", found "sigmoid"}}
  %0 = graph.gelu %x approximate = "sigmoid" : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}
