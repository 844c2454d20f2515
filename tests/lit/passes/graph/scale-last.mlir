// RUN: inarch-opt %s -p scale-last --split-input-file | filecheck %s

// As the operator Attention does: both sides by the root of the scale, one of them transposed before or behind.
// CHECK-LABEL: @roots
// CHECK:      %[[KT:.*]] = graph.transpose %k perm = [1, 0]
// CHECK-NEXT: %[[C:.*]] = graph.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT: %[[S:.*]] = graph.matmul %q, %[[KT]] : tensor<4x5xf32>, tensor<5x7xf32> -> tensor<4x7xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.mul %[[S]], %[[C]]
// CHECK-NEXT: func.return %[[Y]]
func.func @roots(%q: tensor<4x5xf32>, %k: tensor<7x5xf32>) -> tensor<4x7xf32> {
  %root = graph.constant dense<0.5> : tensor<1xf32>
  %0 = graph.mul %q, %root : tensor<4x5xf32>, tensor<1xf32> -> tensor<4x5xf32>
  %1 = graph.mul %root, %k : tensor<1xf32>, tensor<7x5xf32> -> tensor<7x5xf32>
  %2 = graph.transpose %1 perm = [1, 0] : tensor<7x5xf32> -> tensor<5x7xf32>
  %3 = graph.matmul %0, %2 : tensor<4x5xf32>, tensor<5x7xf32> -> tensor<4x7xf32>
  func.return %3 : tensor<4x7xf32>
}

// -----

// CHECK-LABEL: @divided
// CHECK:      %[[C:.*]] = graph.constant dense<1.250000e-01> : tensor<f32>
// CHECK:      graph.matmul %q, %k
// CHECK-NEXT: graph.mul %{{.*}}, %[[C]]
func.func @divided(%q: tensor<4x5xf32>, %k: tensor<5x7xf32>) -> tensor<4x7xf32> {
  %by = graph.constant dense<8.0> : tensor<f32>
  %0 = graph.div %q, %by : tensor<4x5xf32>, tensor<f32> -> tensor<4x5xf32>
  %1 = graph.matmul %0, %k : tensor<4x5xf32>, tensor<5x7xf32> -> tensor<4x7xf32>
  func.return %1 : tensor<4x7xf32>
}

// -----

// Left alone: a number divided by a matrix, a factor for each column, one that is 0 or large, a matrix with another use.
// CHECK-LABEL: @not
// CHECK:      %[[Q:.*]] = graph.div %by, %q
// CHECK-NEXT: graph.matmul %[[Q]], %k
// CHECK-NEXT: %[[COLUMNS:.*]] = graph.mul %k
// CHECK-NEXT: graph.matmul %q, %[[COLUMNS]]
// CHECK-NEXT: %[[NONE:.*]] = graph.mul %q
// CHECK-NEXT: graph.matmul %[[NONE]], %k
// CHECK-NEXT: %[[LARGE:.*]] = graph.mul %q
// CHECK-NEXT: graph.matmul %[[LARGE]], %k
// CHECK-NEXT: %[[USED:.*]] = graph.mul %q
// CHECK-NEXT: graph.matmul %[[USED]], %k
func.func @not(%q: tensor<4x5xf32>, %k: tensor<5x7xf32>, %c: tensor<7xf32>) -> (tensor<4x7xf32>, tensor<4x7xf32>, tensor<4x7xf32>, tensor<4x7xf32>, tensor<4x7xf32>, tensor<4x5xf32>) {
  %by = graph.constant dense<8.0> : tensor<f32>
  %none = graph.constant dense<0.0> : tensor<f32>
  %large = graph.constant dense<1.0e6> : tensor<f32>
  %0 = graph.div %by, %q : tensor<f32>, tensor<4x5xf32> -> tensor<4x5xf32>
  %1 = graph.matmul %0, %k : tensor<4x5xf32>, tensor<5x7xf32> -> tensor<4x7xf32>
  %2 = graph.mul %k, %c : tensor<5x7xf32>, tensor<7xf32> -> tensor<5x7xf32>
  %3 = graph.matmul %q, %2 : tensor<4x5xf32>, tensor<5x7xf32> -> tensor<4x7xf32>
  %4 = graph.mul %q, %none : tensor<4x5xf32>, tensor<f32> -> tensor<4x5xf32>
  %5 = graph.matmul %4, %k : tensor<4x5xf32>, tensor<5x7xf32> -> tensor<4x7xf32>
  %6 = graph.mul %q, %large : tensor<4x5xf32>, tensor<f32> -> tensor<4x5xf32>
  %7 = graph.matmul %6, %k : tensor<4x5xf32>, tensor<5x7xf32> -> tensor<4x7xf32>
  %8 = graph.mul %q, %by : tensor<4x5xf32>, tensor<f32> -> tensor<4x5xf32>
  %9 = graph.matmul %8, %k : tensor<4x5xf32>, tensor<5x7xf32> -> tensor<4x7xf32>
  func.return %1, %3, %5, %7, %9, %8 : tensor<4x7xf32>, tensor<4x7xf32>, tensor<4x7xf32>, tensor<4x7xf32>, tensor<4x7xf32>, tensor<4x5xf32>
}

// -----

// Constant matrices, which are scaled when they are compiled, and integers, whose product wraps.
// CHECK-LABEL: @constant
// CHECK:      %[[X:.*]] = graph.mul %x
// CHECK-NEXT: graph.matmul %[[X]], %w
// CHECK:      %[[H:.*]] = graph.mul %h
// CHECK-NEXT: graph.matmul %[[H]], %h
func.func @constant(%x: tensor<4x5xf32>, %h: tensor<5x5xi32>) -> (tensor<4x7xf32>, tensor<5x5xi32>) {
  %w = graph.constant dense<1.0> : tensor<5x7xf32>
  %c = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.mul %x, %c : tensor<4x5xf32>, tensor<f32> -> tensor<4x5xf32>
  %1 = graph.matmul %0, %w : tensor<4x5xf32>, tensor<5x7xf32> -> tensor<4x7xf32>
  %d = graph.constant dense<3> : tensor<i32>
  %2 = graph.mul %h, %d : tensor<5x5xi32>, tensor<i32> -> tensor<5x5xi32>
  %3 = graph.matmul %2, %h : tensor<5x5xi32>, tensor<5x5xi32> -> tensor<5x5xi32>
  func.return %1, %3 : tensor<4x7xf32>, tensor<5x5xi32>
}
