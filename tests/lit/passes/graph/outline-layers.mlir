// RUN: inarch-opt %s -p outline-layers --split-input-file | filecheck %s

// Two layers: %w differs and is an argument, the scale is one and stays. A value that is the same for both
// (%m) is an argument as well. What stands before stays.
// CHECK-LABEL: func.func @main(
// CHECK:         %x = graph.tanh %a
// CHECK-NEXT:    %y0 = graph.call @main_layer(%x, %w0, %m) {inarch.locations = [loc({{.*}}":22:3), {{.*}}":29:3)]} : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
// CHECK-NEXT:    %y1 = graph.call @main_layer(%y0, %w1, %m) {inarch.locations = [loc({{.*}}":30:3), {{.*}}":37:3)]}
// CHECK-NEXT:    func.return %y1
// CHECK-LABEL: func.func private @main_layer(%x: tensor<2x2xf32>, %w0: tensor<2x2xf32> {inarch.weight}, %m: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {inarch.layer, inarch.locations = [loc({{.*}}":22:3), {{.*}}":29:3)]} {
// CHECK-NEXT:    %s = graph.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:    %b0 = graph.matmul %x, %w0
// CHECK-NEXT:    %c0 = graph.mul %b0, %s
// CHECK:         %e0 = graph.add %d0, %m
// CHECK:         %y0 = graph.add %h0, %x
// CHECK-NEXT:    func.return %y0
func.func @main(%a: tensor<2x2xf32>, %m: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %s = graph.constant dense<2.0> : tensor<f32>
  %w0 = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %w1 = graph.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %x = graph.tanh %a : tensor<2x2xf32> -> tensor<2x2xf32>
  %b0 = graph.matmul %x, %w0 : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %c0 = graph.mul %b0, %s : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  %d0 = graph.relu %c0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %e0 = graph.add %d0, %m : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %f0 = graph.exp %e0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %g0 = graph.neg %f0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %h0 = graph.abs %g0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %y0 = graph.add %h0, %x : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %b1 = graph.matmul %y0, %w1 : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %c1 = graph.mul %b1, %s : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  %d1 = graph.relu %c1 : tensor<2x2xf32> -> tensor<2x2xf32>
  %e1 = graph.add %d1, %m : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %f1 = graph.exp %e1 : tensor<2x2xf32> -> tensor<2x2xf32>
  %g1 = graph.neg %f1 : tensor<2x2xf32> -> tensor<2x2xf32>
  %h1 = graph.abs %g1 : tensor<2x2xf32> -> tensor<2x2xf32>
  %y1 = graph.add %h1, %y0 : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %y1 : tensor<2x2xf32>
}

// -----

// What differs is a number, which passes fold into loops: these are no layers.
// CHECK-LABEL: func.func @numbers(
// CHECK-NOT: call
func.func @numbers(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %s0 = graph.constant dense<2.0> : tensor<f32>
  %s1 = graph.constant dense<3.0> : tensor<f32>
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b0 = graph.matmul %x, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %c0 = graph.mul %b0, %s0 : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  %d0 = graph.relu %c0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %e0 = graph.tanh %d0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %f0 = graph.exp %e0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %g0 = graph.neg %f0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %h0 = graph.abs %g0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %y0 = graph.add %h0, %x : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %b1 = graph.matmul %y0, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %c1 = graph.mul %b1, %s1 : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  %d1 = graph.relu %c1 : tensor<2x2xf32> -> tensor<2x2xf32>
  %e1 = graph.tanh %d1 : tensor<2x2xf32> -> tensor<2x2xf32>
  %f1 = graph.exp %e1 : tensor<2x2xf32> -> tensor<2x2xf32>
  %g1 = graph.neg %f1 : tensor<2x2xf32> -> tensor<2x2xf32>
  %h1 = graph.abs %g1 : tensor<2x2xf32> -> tensor<2x2xf32>
  %y1 = graph.add %h1, %y0 : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %y1 : tensor<2x2xf32>
}
