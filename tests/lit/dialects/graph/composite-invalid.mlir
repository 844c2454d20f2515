// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1
func.func @arguments(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.composite' C1: expected body arguments (tensor<4xf32>), found (tensor<2xf32>)}}
  %0 = graph.composite "toy.f"(%x) : (tensor<4xf32>) -> tensor<2xf32> {
  ^bb0(%y: tensor<2xf32>):
    graph.yield %y : tensor<2xf32>
  }
  func.return
}

// -----

// C2
func.func @nothing(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.composite' C2: expected a body that ends in graph.yield of values, found graph.yield}}
  "graph.composite"(%x) <{symbol = "toy.f"}> ({
  ^bb0(%y: tensor<4xf32>):
    graph.yield
  }) : (tensor<4xf32>) -> ()
  func.return
}

// -----

// C2
func.func @call(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.composite' C2: expected graph ops in the body, found graph.call}}
  %0 = graph.composite "toy.f"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%y: tensor<4xf32>):
    %1 = graph.call @call(%y) : tensor<4xf32> -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  func.return
}

// -----

// C3
func.func @name(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.composite' C3: expected a name "backend.pattern", found "f"}}
  %0 = graph.composite "f"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%y: tensor<4xf32>):
    graph.yield %y : tensor<4xf32>
  }
  func.return
}

// -----

// C0
func.func @result(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.composite' C0: expected result 0 of type tensor<4xf32>, found tensor<2xf32>}}
  %0 = graph.composite "toy.f"(%x) : (tensor<4xf32>) -> tensor<2xf32> {
  ^bb0(%y: tensor<4xf32>):
    graph.yield %y : tensor<4xf32>
  }
  func.return
}

// -----

// C0
func.func @results(%x: tensor<4xf32>) {
  // expected-error @below {{'graph.composite' C0: expected as many results as are yielded, 2 not 1}}
  %0 = graph.composite "toy.f"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%y: tensor<4xf32>):
    graph.yield %y, %y : tensor<4xf32>, tensor<4xf32>
  }
  func.return
}

// -----

// The body sees its arguments only.
func.func @outside(%x: tensor<4xf32>) {
  // expected-error @below {{Operation using value defined out of its IsolatedFromAbove parent}}
  %0 = graph.composite "toy.f"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%y: tensor<4xf32>):
    graph.yield %x : tensor<4xf32>
  }
  func.return
}
