// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// softmax, C1
func.func @softmax_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.softmax' C1: expected a float dtype, found i32}}
  %0 = graph.softmax %x axis = 0 : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// softmax, C2
func.func @softmax_of_no_axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.softmax' C2: expected an axis of a tensor of rank 2, found 2}}
  %0 = graph.softmax %x axis = 2 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----

// log_softmax, C1
func.func @log_softmax_of_integers(%x: tensor<2xi32>) {
  // expected-error @below {{'graph.log_softmax' C1: expected a float dtype, found i32}}
  %0 = graph.log_softmax %x axis = 0 : tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----

// log_softmax, C2
func.func @log_softmax_of_no_axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.log_softmax' C2: expected an axis of a tensor of rank 2, found 2}}
  %0 = graph.log_softmax %x axis = 2 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}
