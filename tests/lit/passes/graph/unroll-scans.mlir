// RUN: inarch-opt %s -p unroll-scans --split-input-file | filecheck %s

// One iteration: slices and what is stacked are its only rows.
// CHECK-LABEL: func.func @main(%h0: tensor<2xf32>, %xs: tensor<1x2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<1x2xf32>) {
// CHECK-NEXT:    %0 = graph.slice %xs starts = [0, 0] sizes = [1, 2] steps = [1, 1] : tensor<1x2xf32> -> tensor<1x2xf32>
// CHECK-NEXT:    %1 = graph.reshape %0 shape = [2] : tensor<1x2xf32> -> tensor<2xf32>
// CHECK-NEXT:    %p = graph.mul %h0, %w : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    %ys = graph.reshape %1 shape = [1, 2] : tensor<2xf32> -> tensor<1x2xf32>
// CHECK-NEXT:    func.return %p, %ys : tensor<2xf32>, tensor<1x2xf32>
// CHECK-NEXT:  }
func.func @main(%h0: tensor<2xf32>, %xs: tensor<1x2xf32>, %w: tensor<2xf32>) -> (tensor<2xf32>, tensor<1x2xf32>) {
  %h, %ys = graph.scan 1 iterations from(%h0) each(%xs) all(%w) backward [1, 0] : (tensor<2xf32>, tensor<1x2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<1x2xf32>) {
  ^bb0(%s: tensor<2xf32>, %x: tensor<2xf32>, %r: tensor<2xf32>):
    %p = graph.mul %s, %r : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    graph.yield %p, %x : tensor<2xf32>, tensor<2xf32>
  }
  func.return %h, %ys : tensor<2xf32>, tensor<1x2xf32>
}

// -----

// Two iterations stay a loop.
// CHECK-LABEL: func.func @main(%xs: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:    %ys = graph.scan 2 iterations from() each(%xs) all() backward [1, 0] : (tensor<2x3xf32>) -> (tensor<2x3xf32>) {
// CHECK-NEXT:    ^bb0(%x: tensor<3xf32>):
// CHECK-NEXT:      %p = graph.tanh %x : tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:      graph.yield %p : tensor<3xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %ys : tensor<2x3xf32>
// CHECK-NEXT:  }
func.func @main(%xs: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %ys = graph.scan 2 iterations from() each(%xs) all() backward [1, 0] : (tensor<2x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%x: tensor<3xf32>):
    %p = graph.tanh %x : tensor<3xf32> -> tensor<3xf32>
    graph.yield %p : tensor<3xf32>
  }
  func.return %ys : tensor<2x3xf32>
}

// -----

// A scan in a scan.
// CHECK-LABEL: func.func @main(%x: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:    %0 = graph.tanh %x : tensor<f32> -> tensor<f32>
// CHECK-NEXT:    func.return %0 : tensor<f32>
// CHECK-NEXT:  }
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = graph.scan 1 iterations from(%x) each() all() backward [] : (tensor<f32>) -> (tensor<f32>) {
  ^bb0(%s: tensor<f32>):
    %1 = graph.scan 1 iterations from(%s) each() all() backward [] : (tensor<f32>) -> (tensor<f32>) {
    ^bb1(%t: tensor<f32>):
      %2 = graph.tanh %t : tensor<f32> -> tensor<f32>
      graph.yield %2 : tensor<f32>
    }
    graph.yield %1 : tensor<f32>
  }
  func.return %0 : tensor<f32>
}
