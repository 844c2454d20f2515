// RUN: inarch-opt %s --split-input-file | inarch-opt --split-input-file | filecheck %s
// RUN: inarch-opt %s --split-input-file --print-op-generic | inarch-opt --split-input-file | filecheck %s

// States from and to, and what is the same at each iteration; attributes stay.
// CHECK-LABEL: func.func @main(%n: tensor<i64>, %c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
// CHECK-NEXT:    %s, %t = graph.while %n if %c from(%a, %b) all(%w) attributes {note} : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
// CHECK-NEXT:    ^bb0(%i: tensor<i64>, %p: tensor<2xf32>, %q: tensor<2xf32>, %v: tensor<2xf32>):
// CHECK-NEXT:      %g = graph.less %i, %i : tensor<i64>, tensor<i64> -> tensor<i1>
// CHECK-NEXT:      %m = graph.add %p, %v : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:      graph.yield %g, %q, %m : tensor<i1>, tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %s, %t : tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT:  }
func.func @main(%n: tensor<i64>, %c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %s, %t = graph.while %n if %c from(%a, %b) all(%w) attributes {note} : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%i: tensor<i64>, %p: tensor<2xf32>, %q: tensor<2xf32>, %v: tensor<2xf32>):
    %g = graph.less %i, %i : tensor<i64>, tensor<i64> -> tensor<i1>
    %m = graph.add %p, %v : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    graph.yield %g, %q, %m : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  func.return %s, %t : tensor<2xf32>, tensor<2xf32>
}

// -----

// In another one, whose number it takes for its own.
// CHECK-LABEL: func.func @nested(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:    %0 = graph.while %n if %c from(%x) all(%c) : (tensor<i64>, tensor<i1>, tensor<f32>, tensor<i1>) -> (tensor<f32>) {
// CHECK-NEXT:    ^bb0(%i: tensor<i64>, %s: tensor<f32>, %d: tensor<i1>):
// CHECK-NEXT:      %1 = graph.while %i if %d from(%s) all() : (tensor<i64>, tensor<i1>, tensor<f32>) -> (tensor<f32>) {
// CHECK-NEXT:      ^bb0(%j: tensor<i64>, %t: tensor<f32>):
// CHECK-NEXT:        %e = graph.equal %j, %j : tensor<i64>, tensor<i64> -> tensor<i1>
// CHECK-NEXT:        %2 = graph.tanh %t : tensor<f32> -> tensor<f32>
// CHECK-NEXT:        graph.yield %e, %2 : tensor<i1>, tensor<f32>
// CHECK-NEXT:      }
// CHECK-NEXT:      graph.yield %d, %1 : tensor<i1>, tensor<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %0 : tensor<f32>
// CHECK-NEXT:  }
func.func @nested(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %0 = graph.while %n if %c from(%x) all(%c) : (tensor<i64>, tensor<i1>, tensor<f32>, tensor<i1>) -> (tensor<f32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<f32>, %d: tensor<i1>):
    %1 = graph.while %i if %d from(%s) all() : (tensor<i64>, tensor<i1>, tensor<f32>) -> (tensor<f32>) {
    ^bb1(%j: tensor<i64>, %t: tensor<f32>):
      %e = graph.equal %j, %j : tensor<i64>, tensor<i64> -> tensor<i1>
      %2 = graph.tanh %t : tensor<f32> -> tensor<f32>
      graph.yield %e, %2 : tensor<i1>, tensor<f32>
    }
    graph.yield %d, %1 : tensor<i1>, tensor<f32>
  }
  func.return %0 : tensor<f32>
}
