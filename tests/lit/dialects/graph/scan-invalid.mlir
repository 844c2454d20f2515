// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1
func.func @iterations(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C1: expected 1 to 2147483647 iterations, found 0}}
  %0 = graph.scan 0 iterations from(%x) each() all() backward [] : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%s: tensor<4xf32>):
    graph.yield %s : tensor<4xf32>
  }
  func.return
}

// -----

// C1
func.func @too_many(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C1: expected 1 to 2147483647 iterations, found 1152921504606846976}}
  %0 = graph.scan 1152921504606846976 iterations from(%x) each() all() backward [] : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%s: tensor<4xf32>):
    graph.yield %s : tensor<4xf32>
  }
  func.return
}

// -----

// C2
func.func @rows(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C2: expected 3 elements in the first dimension of operand 0 of each, found tensor<4xf32>}}
  %0 = graph.scan 3 iterations from() each(%x) all() backward [0, 0] : (tensor<4xf32>) -> (tensor<3xf32>) {
  ^bb0(%s: tensor<f32>):
    graph.yield %s : tensor<f32>
  }
  func.return
}

// -----

// C3
func.func @arguments(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C3: expected body arguments (tensor<f32>), found (tensor<4xf32>)}}
  %0 = graph.scan 4 iterations from() each(%x) all() backward [0, 0] : (tensor<4xf32>) -> (tensor<4x4xf32>) {
  ^bb0(%s: tensor<4xf32>):
    graph.yield %s : tensor<4xf32>
  }
  func.return
}

// -----

// C4
func.func @states(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C4: expected a body that yields the states (tensor<4xf32>) first, found (tensor<f32>)}}
  %0 = graph.scan 4 iterations from(%x) each(%x) all() backward [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>) {
  ^bb0(%s: tensor<4xf32>, %y: tensor<f32>):
    graph.yield %y : tensor<f32>
  }
  func.return
}

// -----

// C4
func.func @ops(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C4: expected graph ops in the body, found arith.constant}}
  %0 = graph.scan 4 iterations from(%x) each() all() backward [] : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%s: tensor<4xf32>):
    %i = arith.constant 1 : index
    graph.yield %s : tensor<4xf32>
  }
  func.return
}

// -----

// C4
func.func @end(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C4: expected a body that ends in graph.yield, found loop.yield}}
  graph.scan 4 iterations from() each() all() backward [] : () -> () {
    %c = graph.constant dense<1.0> : tensor<f32>
    loop.yield
  }
  func.return
}

// -----

// C5
func.func @backward(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C5: expected 2 numbers that are 0 or 1 in backward, found [0, 2]}}
  %0 = graph.scan 4 iterations from() each(%x) all() backward [0, 2] : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%y: tensor<f32>):
    graph.yield %y : tensor<f32>
  }
  func.return
}

// -----

// C5
func.func @too_few(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C5: expected 2 numbers that are 0 or 1 in backward, found [0]}}
  %0 = graph.scan 4 iterations from() each(%x) all() backward [0] : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%y: tensor<f32>):
    graph.yield %y : tensor<f32>
  }
  func.return
}

// -----

// C6
func.func @leak(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C6: expected a body that uses its arguments, found tensor<4xf32> from outside in graph.add; give it to all}}
  %0 = graph.scan 4 iterations from(%x) each() all() backward [] : (tensor<4xf32>) -> (tensor<4xf32>) {
  ^bb0(%s: tensor<4xf32>):
    %t = graph.add %s, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    graph.yield %t : tensor<4xf32>
  }
  func.return
}

// -----

// C0
func.func @results(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C0: expected result 0 of type tensor<4xf32>, found tensor<5xf32>}}
  %0 = graph.scan 4 iterations from() each(%x) all() backward [0, 0] : (tensor<4xf32>) -> (tensor<5xf32>) {
  ^bb0(%y: tensor<f32>):
    graph.yield %y : tensor<f32>
  }
  func.return
}

// -----

// C0
func.func @too_many_results(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.scan' C0: expected as many results as are yielded, 1, found 2}}
  %0, %1 = graph.scan 4 iterations from() each(%x) all() backward [0, 0] : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%y: tensor<f32>):
    graph.yield %y : tensor<f32>
  }
  func.return
}
