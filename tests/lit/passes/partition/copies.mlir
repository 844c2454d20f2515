// RUN: inarch-opt %s --load %S/Inputs/copies.py -p 'annotate{backends=copies},merge-composites' | filecheck %s
// RUN: inarch-opt %s --load %S/Inputs/copies.py -p 'annotate{backends=copies}' | inarch-opt --load %S/Inputs/copies.py -p merge-composites | filecheck %s
// RUN: inarch-opt %s --load %S/Inputs/copies.py -p 'annotate{backends=copies},merge-composites,merge-regions' | filecheck %s --check-prefix=BACK

// Both products take the dequantized weights, transposed: one of them copies, the other one the original.

// CHECK-LABEL: func.func @shared_by_two
// CHECK-NEXT: %[[A:.*]] = graph.composite "copies.product"(%x)
// CHECK: graph.dequantize
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.matmul
// CHECK: %[[B:.*]] = graph.composite "copies.product"(%y)
// CHECK: graph.dequantize
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.matmul
// CHECK: return %[[A]], %[[B]]
func.func @shared_by_two(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %q = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %w = graph.dequantize %q scale %s : tensor<2x2xi8>, tensor<f32> -> tensor<2x2xf32>
  %t = graph.transpose %w perm = [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %0 = graph.matmul %x, %t : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %1 = graph.matmul %y, %t : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// The host keeps the original for its own use.

// CHECK-LABEL: func.func @shared_with_the_host
// CHECK: %[[W:.*]] = graph.dequantize
// CHECK: %[[T:.*]] = graph.transpose %[[W]]
// CHECK: graph.composite "copies.product"(%x)
// CHECK: graph.dequantize
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.matmul
// CHECK: graph.exp %[[T]]
func.func @shared_with_the_host(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %q = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %w = graph.dequantize %q scale %s : tensor<2x2xi8>, tensor<f32> -> tensor<2x2xf32>
  %t = graph.transpose %w perm = [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %0 = graph.matmul %x, %t : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %1 = graph.exp %t : tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// What goes back to the host, as too few ops, goes back without its copies.

// BACK-LABEL: func.func @back_to_the_host
// BACK-NEXT: graph.constant
// BACK-NEXT: graph.constant
// BACK-NEXT: %[[W:.*]] = graph.dequantize
// BACK-NEXT: %[[E:.*]] = graph.exp %[[W]]
// BACK-NEXT: %[[M:.*]] = graph.matmul %x, %[[W]]
// BACK-NEXT: return %[[E]], %[[M]]
func.func @back_to_the_host(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %q = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %w = graph.dequantize %q scale %s : tensor<2x2xi8>, tensor<f32> -> tensor<2x2xf32>
  %1 = graph.exp %w : tensor<2x2xf32> -> tensor<2x2xf32>
  %0 = graph.matmul %x, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %1, %0 : tensor<2x2xf32>, tensor<2x2xf32>
}

// A transpose that is given by hand is taken itself: then nothing else may use it.

// CHECK-LABEL: func.func @given
// CHECK: graph.composite "copies.product"(%x) attributes {partition.backend = "copies", partition.give = "copies"}
func.func @given(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %q = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %w = graph.dequantize %q scale %s : tensor<2x2xi8>, tensor<f32> -> tensor<2x2xf32>
  %t = graph.transpose %w perm = [1, 0] {partition.give = "copies"} : tensor<2x2xf32> -> tensor<2x2xf32>
  %0 = graph.matmul %x, %t : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}
