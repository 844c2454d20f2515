// RUN: inarch-opt %s -p outline-bodies --split-input-file | filecheck %s

// The constant is in the function, which returns %n once.
// CHECK-LABEL: func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
// CHECK-NEXT:    %c = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %s, %t, %ys = graph.scan 3 iterations from(%a, %b) each() all(%w) backward [0] : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>) {
// CHECK-NEXT:    ^bb0(%0: tensor<2xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>):
// CHECK-NEXT:      %3, %4 = graph.call @main_body(%0, %1, %2) : tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT:      graph.yield %3, %4, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %s, %ys : tensor<2xf32>, tensor<3x2xf32>
// CHECK-NEXT:  }
// CHECK-LABEL: func.func private @main_body(%0: tensor<2xf32>, %1: tensor<2xf32>, %2: tensor<2xf32> {inarch.iterations = 3 : i64}) -> (tensor<2xf32>, tensor<2xf32>) attributes {inarch.body} {
// CHECK-NEXT:    %c = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %m = graph.mul %0, %c : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    %n = graph.add %m, %2 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    func.return %1, %n : tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT:  }
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
  %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s, %t, %ys = graph.scan 3 iterations from(%a, %b) each() all(%c, %w) backward [0] : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>) {
  ^bb0(%p: tensor<2xf32>, %q: tensor<2xf32>, %r: tensor<2xf32>, %v: tensor<2xf32>):
    %m = graph.mul %p, %r : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %n = graph.add %m, %v : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    graph.yield %q, %n, %n : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  func.return %s, %ys : tensor<2xf32>, tensor<3x2xf32>
}

// -----

// Inner bodies first; a scan that is outlined stays.
// CHECK-LABEL: func.func @main(%x: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:    %0 = graph.scan 3 iterations from(%x) each() all() backward [] : (tensor<f32>) -> (tensor<f32>) {
// CHECK-NEXT:    ^bb0(%1: tensor<f32>):
// CHECK-NEXT:      %2 = graph.call @main_body_1(%1) : tensor<f32> -> tensor<f32>
// CHECK-NEXT:      graph.yield %2 : tensor<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %0 : tensor<f32>
// CHECK-NEXT:  }
// CHECK-LABEL: func.func private @main_body(%0: tensor<f32>) -> tensor<f32> attributes {inarch.body} {
// CHECK-NEXT:    %1 = graph.tanh %0 : tensor<f32> -> tensor<f32>
// CHECK-NEXT:    func.return %1 : tensor<f32>
// CHECK-NEXT:  }
// CHECK-LABEL: func.func private @main_body_1(%0: tensor<f32>) -> tensor<f32> attributes {inarch.body} {
// CHECK-NEXT:    %1 = graph.scan 3 iterations from(%0) each() all() backward [] : (tensor<f32>) -> (tensor<f32>) {
// CHECK-NEXT:    ^bb0(%2: tensor<f32>):
// CHECK-NEXT:      %3 = graph.call @main_body(%2) : tensor<f32> -> tensor<f32>
// CHECK-NEXT:      graph.yield %3 : tensor<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %1 : tensor<f32>
// CHECK-NEXT:  }
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = graph.scan 3 iterations from(%x) each() all() backward [] : (tensor<f32>) -> (tensor<f32>) {
  ^bb0(%s: tensor<f32>):
    %1 = graph.scan 3 iterations from(%s) each() all() backward [] : (tensor<f32>) -> (tensor<f32>) {
    ^bb1(%t: tensor<f32>):
      %2 = graph.tanh %t : tensor<f32> -> tensor<f32>
      graph.yield %2 : tensor<f32>
    }
    graph.yield %1 : tensor<f32>
  }
  func.return %0 : tensor<f32>
}

// -----

// Both branches of an if; the constant is where it is used.
// CHECK-LABEL: func.func @main(%c: tensor<i1>, %x: tensor<2x3xf32>, %w: tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT:    %k = graph.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
// CHECK-NEXT:    %y, %z = graph.if %c(%x, %w) : (tensor<i1>, tensor<2x3xf32>, tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
// CHECK-NEXT:    ^bb0(%0: tensor<2x3xf32>, %1: tensor<3x3xf32>):
// CHECK-NEXT:      %2 = graph.call @main_body(%0, %1) : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:      graph.yield %2, %2 : tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:    ^bb0(%3: tensor<2x3xf32>, %4: tensor<3x3xf32>):
// CHECK-NEXT:      %5, %6 = graph.call @main_body_1(%3, %4) : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT:      graph.yield %5, %6 : tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %y, %z : tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT:  }
// CHECK-LABEL: func.func private @main_body(%0: tensor<2x3xf32>, %1: tensor<3x3xf32>) -> tensor<2x3xf32> attributes {inarch.body} {
// CHECK-NEXT:    %k = graph.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
// CHECK-NEXT:    %p = graph.matmul %0, %1 : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    %q = graph.add %p, %k : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    func.return %q : tensor<2x3xf32>
// CHECK-NEXT:  }
// CHECK-LABEL: func.func private @main_body_1(%0: tensor<2x3xf32>, %1: tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) attributes {inarch.body} {
// CHECK-NEXT:    %n = graph.neg %0 : tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    func.return %0, %n : tensor<2x3xf32>, tensor<2x3xf32>
// CHECK-NEXT:  }
func.func @main(%c: tensor<i1>, %x: tensor<2x3xf32>, %w: tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %k = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %y, %z = graph.if %c(%x, %w, %k) : (tensor<i1>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>, %d: tensor<3xf32>):
    %p = graph.matmul %a, %b : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32>
    %q = graph.add %p, %d : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    graph.yield %q, %q : tensor<2x3xf32>, tensor<2x3xf32>
  } else {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>, %d: tensor<3xf32>):
    %n = graph.neg %a : tensor<2x3xf32> -> tensor<2x3xf32>
    graph.yield %a, %n : tensor<2x3xf32>, tensor<2x3xf32>
  }
  func.return %y, %z : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// A loop of computed length: as a scan, with the condition first.
// CHECK-LABEL: func.func @main(%n: tensor<i64>, %c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
// CHECK-NEXT:    %k = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %s, %t = graph.while %n if %c from(%a, %b) all(%w) attributes {note} : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
// CHECK-NEXT:    ^bb0(%0: tensor<i64>, %1: tensor<2xf32>, %2: tensor<2xf32>, %3: tensor<2xf32>):
// CHECK-NEXT:      %4, %5, %6 = graph.call @main_body(%0, %1, %2, %3) : tensor<i64>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<i1>, tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT:      graph.yield %4, %5, %6 : tensor<i1>, tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %s, %t : tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT:  }
// CHECK-LABEL: func.func private @main_body(%0: tensor<i64>, %1: tensor<2xf32>, %2: tensor<2xf32>, %3: tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>, tensor<2xf32>) attributes {inarch.body} {
// CHECK-NEXT:    %k = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %three = graph.constant dense<3> : tensor<i64>
// CHECK-NEXT:    %g = graph.less %0, %three : tensor<i64>, tensor<i64> -> tensor<i1>
// CHECK-NEXT:    %m = graph.mul %1, %k : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    %o = graph.add %m, %3 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    func.return %g, %2, %o : tensor<i1>, tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT:  }
func.func @main(%n: tensor<i64>, %c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %k = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s, %t = graph.while %n if %c from(%a, %b) all(%k, %w) attributes {note} : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %p: tensor<2xf32>, %q: tensor<2xf32>, %r: tensor<2xf32>, %v: tensor<2xf32>):
    %three = graph.constant dense<3> : tensor<i64>
    %g = graph.less %i, %three : tensor<i64>, tensor<i64> -> tensor<i1>
    %m = graph.mul %p, %r : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    %o = graph.add %m, %v : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    graph.yield %g, %q, %o : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  func.return %s, %t : tensor<2xf32>, tensor<2xf32>
}
