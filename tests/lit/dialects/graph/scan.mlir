// RUN: inarch-opt %s --split-input-file | inarch-opt --split-input-file | filecheck %s

// A state that is also stacked; the rows of %xs from the last one on; %w is the same at each iteration.
// CHECK-LABEL: func.func @recurrence
// CHECK-NEXT:    %h, %ys = graph.scan 5 iterations from(%h0) each(%xs) all(%w) backward [1, 0] : (tensor<2x8xf32>, tensor<5x2x8xf32>, tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<5x2x8xf32>) {
// CHECK-NEXT:    ^bb0(%s: tensor<2x8xf32>, %x: tensor<2x8xf32>, %r: tensor<8x8xf32>):
// CHECK-NEXT:      %p = graph.matmul %s, %r : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
// CHECK-NEXT:      %q = graph.add %p, %x : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<2x8xf32>
// CHECK-NEXT:      graph.yield %q, %q : tensor<2x8xf32>, tensor<2x8xf32>
// CHECK-NEXT:    }
func.func @recurrence(%h0: tensor<2x8xf32>, %xs: tensor<5x2x8xf32>, %w: tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<5x2x8xf32>) {
  %h, %ys = graph.scan 5 iterations from(%h0) each(%xs) all(%w) backward [1, 0] : (tensor<2x8xf32>, tensor<5x2x8xf32>, tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<5x2x8xf32>) {
  ^bb0(%s: tensor<2x8xf32>, %x: tensor<2x8xf32>, %r: tensor<8x8xf32>):
    %p = graph.matmul %s, %r : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
    %q = graph.add %p, %x : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<2x8xf32>
    graph.yield %q, %q : tensor<2x8xf32>, tensor<2x8xf32>
  }
  func.return %h, %ys : tensor<2x8xf32>, tensor<5x2x8xf32>
}

// -----

// Without slices, without what is stacked, in another scan; attributes stay.
// CHECK-LABEL: func.func @nested
// CHECK:         graph.scan 3 iterations from(%x) each() all() backward [] attributes {note} : (tensor<f32>) -> (tensor<f32>) {
// CHECK:           graph.scan 2 iterations from(%{{.*}}) each() all() backward [] : (tensor<f32>) -> (tensor<f32>) {
func.func @nested(%x: tensor<f32>) -> tensor<f32> {
  %0 = graph.scan 3 iterations from(%x) each() all() backward [] attributes {note} : (tensor<f32>) -> (tensor<f32>) {
  ^bb0(%s: tensor<f32>):
    %1 = graph.scan 2 iterations from(%s) each() all() backward [] : (tensor<f32>) -> (tensor<f32>) {
    ^bb1(%t: tensor<f32>):
      %2 = graph.tanh %t : tensor<f32> -> tensor<f32>
      graph.yield %2 : tensor<f32>
    }
    graph.yield %1 : tensor<f32>
  }
  func.return %0 : tensor<f32>
}
