// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1
func.func @condition(%c: tensor<1xi1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.if' C1: expected a condition tensor<i1>, found tensor<1xi1>}}
  %y = graph.if %c(%x) : (tensor<1xi1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    graph.yield %a : tensor<3xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    graph.yield %b : tensor<3xf32>
  }
  func.return
}

// -----

// C1
func.func @number(%c: tensor<i64>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.if' C1: expected a condition tensor<i1>, found tensor<i64>}}
  %y = graph.if %c(%x) : (tensor<i64>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    graph.yield %a : tensor<3xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    graph.yield %b : tensor<3xf32>
  }
  func.return
}

// -----

// C2
func.func @arguments(%c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.if' C2: expected body arguments (tensor<3xf32>), found (tensor<2xf32>)}}
  %y = graph.if %c(%x) : (tensor<i1>, tensor<3xf32>) -> (tensor<2xf32>) {
  ^bb0(%a: tensor<2xf32>):
    graph.yield %a : tensor<2xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    graph.yield %b : tensor<3xf32>
  }
  func.return
}

// -----

// C3
func.func @end(%c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.if' C3: expected a body that ends in graph.yield, found loop.yield}}
  %y = graph.if %c(%x) : (tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    graph.yield %a : tensor<3xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    loop.yield
  }
  func.return
}

// -----

// C3
func.func @ops(%c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.if' C3: expected graph ops in the body, found arith.constant}}
  %y = graph.if %c(%x) : (tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    graph.yield %a : tensor<3xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    %i = arith.constant 1 : index
    graph.yield %b : tensor<3xf32>
  }
  func.return
}

// -----

// C4
func.func @types(%c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.if' C4: expected bodies that yield the same types, one or more, found (tensor<3xf32>) and (tensor<3xf32>, tensor<3xf32>)}}
  %y = graph.if %c(%x) : (tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    graph.yield %a : tensor<3xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    graph.yield %b, %b : tensor<3xf32>, tensor<3xf32>
  }
  func.return
}

// -----

// C5
func.func @outside(%c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.if' C5: expected a body that uses its arguments, found tensor<3xf32> from outside in graph.yield; give it to the op}}
  %y = graph.if %c(%x) : (tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    graph.yield %a : tensor<3xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    graph.yield %x : tensor<3xf32>
  }
  func.return
}

// -----

// C0
func.func @results(%c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.if' C0: expected as many results as are yielded, 1, found 2}}
  %y, %z = graph.if %c(%x) : (tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    graph.yield %a : tensor<3xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    graph.yield %b : tensor<3xf32>
  }
  func.return
}
