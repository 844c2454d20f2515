// RUN: inarch-opt %s --split-input-file -p fold-constants | filecheck %s

// CHECK-LABEL: @constants_fold_in_chains
func.func @constants_fold_in_chains(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = graph.constant dense<3.0> : tensor<2xf32>
  %c = graph.add %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %d = graph.mul %c, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %e = graph.add %x, %d : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %e : tensor<2xf32>
}
// CHECK-NEXT: %d = graph.constant dense<[1.200000e+01, 1.500000e+01]> : tensor<2xf32>
// CHECK-NEXT: %e = graph.add %x, %d
// CHECK-NEXT: func.return %e

// -----

// CHECK-LABEL: @large_broadcast_would_grow_the_weights
func.func @large_broadcast_would_grow_the_weights() -> tensor<1024x1024xf32> {
  %a = graph.constant dense<1.0> : tensor<1024xf32>
  %b = graph.broadcast_to %a shape = [1024, 1024] : tensor<1024xf32> -> tensor<1024x1024xf32>
  func.return %b : tensor<1024x1024xf32>
}
// CHECK: graph.broadcast_to

// -----

// CHECK-LABEL: @an_op_with_one_variable_operand_stays
func.func @an_op_with_one_variable_operand_stays(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = graph.constant dense<1.0> : tensor<2xf32>
  %b = graph.sub %a, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}
// CHECK: graph.sub

// -----

// A scalar stays one: it does not become a row of one element.
// CHECK-LABEL: @scalars(
// CHECK-NEXT: %{{.*}} = graph.constant dense<6.000000e+00> : tensor<f32>
// CHECK-NEXT: func.return
func.func @scalars() -> tensor<f32> {
  %a = graph.constant dense<2.0> : tensor<f32>
  %b = graph.constant dense<3.0> : tensor<f32>
  %c = graph.mul %a, %b : tensor<f32>, tensor<f32> -> tensor<f32>
  func.return %c : tensor<f32>
}

// -----

// A loop of computed length is none of a known one, whatever it begins with.
// CHECK-LABEL: @loops(
// CHECK: graph.while
func.func @loops() -> tensor<f32> {
  %n = graph.constant dense<3> : tensor<i64>
  %c = graph.constant dense<true> : tensor<i1>
  %x = graph.constant dense<2.0> : tensor<f32>
  %y = graph.while %n if %c from(%x) all() : (tensor<i64>, tensor<i1>, tensor<f32>) -> (tensor<f32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<f32>):
    %two = graph.constant dense<2> : tensor<i64>
    %g = graph.less %i, %two : tensor<i64>, tensor<i64> -> tensor<i1>
    %t = graph.mul %s, %s : tensor<f32>, tensor<f32> -> tensor<f32>
    graph.yield %g, %t : tensor<i1>, tensor<f32>
  }
  func.return %y : tensor<f32>
}
