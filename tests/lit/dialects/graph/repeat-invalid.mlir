// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1, the number
func.func @number(%n: tensor<i32>, %c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.while' C1: expected a number of iterations and a condition (tensor<i64>, tensor<i1>), found (tensor<i32>, tensor<i1>)}}
  %y = graph.while %n if %c from(%x) all() : (tensor<i32>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<3xf32>):
    %f = graph.less %i, %i : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.yield %f, %s : tensor<i1>, tensor<3xf32>
  }
  func.return
}

// -----

// C1, the condition
func.func @condition(%n: tensor<i64>, %c: tensor<1xi1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.while' C1: expected a number of iterations and a condition (tensor<i64>, tensor<i1>), found (tensor<i64>, tensor<1xi1>)}}
  %y = graph.while %n if %c from(%x) all() : (tensor<i64>, tensor<1xi1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<3xf32>):
    %f = graph.less %i, %i : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.yield %f, %s : tensor<i1>, tensor<3xf32>
  }
  func.return
}

// -----

// C2
func.func @arguments(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.while' C2: expected body arguments (tensor<i64>, tensor<3xf32>), found (tensor<i64>, tensor<2xf32>)}}
  %y = graph.while %n if %c from(%x) all() : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<2xf32>):
    %f = graph.less %i, %i : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.yield %f, %s : tensor<i1>, tensor<2xf32>
  }
  func.return
}

// -----

// C3, the end
func.func @end(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.while' C3: expected a body that ends in graph.yield, found loop.yield}}
  %y = graph.while %n if %c from(%x) all() : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<3xf32>):
    loop.yield
  }
  func.return
}

// -----

// C3, the condition
func.func @goes_on(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.while' C3: expected a body that yields a condition and the states (tensor<i1>, tensor<3xf32>), found (tensor<i64>, tensor<3xf32>)}}
  %y = graph.while %n if %c from(%x) all() : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<3xf32>):
    graph.yield %i, %s : tensor<i64>, tensor<3xf32>
  }
  func.return
}

// -----

// C3, the states
func.func @handed(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.while' C3: expected a body that yields a condition and the states (tensor<i1>, tensor<3xf32>), found (tensor<i1>)}}
  %y = graph.while %n if %c from(%x) all() : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<3xf32>):
    %f = graph.less %i, %i : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.yield %f : tensor<i1>
  }
  func.return
}

// -----

// C4
func.func @states(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.while' C4: expected a state or more, found none}}
  graph.while %n if %c from() all() : (tensor<i64>, tensor<i1>) -> () {
  ^bb0(%i: tensor<i64>):
    %f = graph.less %i, %i : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.yield %f : tensor<i1>
  }
  func.return
}

// -----

// C5
func.func @outside(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.while' C5: expected a body that uses its arguments, found tensor<3xf32> from outside in graph.yield; give it to all}}
  %y = graph.while %n if %c from(%x) all() : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<3xf32>):
    %f = graph.less %i, %i : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.yield %f, %x : tensor<i1>, tensor<3xf32>
  }
  func.return
}

// -----

// C0, the number of results
func.func @results(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.while' C0: expected as many results as states, 1, found 2}}
  %y, %z = graph.while %n if %c from(%x) all() : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<3xf32>):
    %f = graph.less %i, %i : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.yield %f, %s : tensor<i1>, tensor<3xf32>
  }
  func.return
}

// -----

// C0, the type of a result
func.func @result(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<3xf32>) {
  // expected-error @below {{'graph.while' C0: expected result 0 of type tensor<3xf32>, found tensor<2xf32>}}
  %y = graph.while %n if %c from(%x) all() : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<3xf32>):
    %f = graph.less %i, %i : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.yield %f, %s : tensor<i1>, tensor<3xf32>
  }
  func.return
}
