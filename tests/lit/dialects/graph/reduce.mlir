// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @sum(
// CHECK-NEXT: %0 = graph.reduce_sum %x axes = [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %1 = graph.reduce_sum %i axes = [0, 1] keepdims = true : tensor<2x3xi32> -> tensor<1x1xi32>
func.func @sum(%x: tensor<2x3xf32>, %i: tensor<2x3xi32>) {
  %0 = graph.reduce_sum %x axes = [1] : tensor<2x3xf32> -> tensor<2xf32>
  %1 = graph.reduce_sum %i axes = [0, 1] keepdims = true : tensor<2x3xi32> -> tensor<1x1xi32>
  func.return
}

// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %0 = graph.reduce_mean %x axes = [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %1 = graph.reduce_mean %i axes = [0, 1] keepdims = true : tensor<2x3xi32> -> tensor<1x1xi32>
func.func @mean(%x: tensor<2x3xf32>, %i: tensor<2x3xi32>) {
  %0 = graph.reduce_mean %x axes = [1] : tensor<2x3xf32> -> tensor<2xf32>
  %1 = graph.reduce_mean %i axes = [0, 1] keepdims = true : tensor<2x3xi32> -> tensor<1x1xi32>
  func.return
}

// CHECK-LABEL: func.func @max(
// CHECK-NEXT: %0 = graph.reduce_max %x axes = [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %1 = graph.reduce_max %i axes = [0, 1] keepdims = true : tensor<2x3xi32> -> tensor<1x1xi32>
func.func @max(%x: tensor<2x3xf32>, %i: tensor<2x3xi32>) {
  %0 = graph.reduce_max %x axes = [1] : tensor<2x3xf32> -> tensor<2xf32>
  %1 = graph.reduce_max %i axes = [0, 1] keepdims = true : tensor<2x3xi32> -> tensor<1x1xi32>
  func.return
}

// CHECK-LABEL: func.func @min(
// CHECK-NEXT: %0 = graph.reduce_min %x axes = [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %1 = graph.reduce_min %i axes = [0, 1] keepdims = true : tensor<2x3xi32> -> tensor<1x1xi32>
func.func @min(%x: tensor<2x3xf32>, %i: tensor<2x3xi32>) {
  %0 = graph.reduce_min %x axes = [1] : tensor<2x3xf32> -> tensor<2xf32>
  %1 = graph.reduce_min %i axes = [0, 1] keepdims = true : tensor<2x3xi32> -> tensor<1x1xi32>
  func.return
}

// CHECK-LABEL: func.func @prod(
// CHECK-NEXT: %0 = graph.reduce_prod %x axes = [1] : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %1 = graph.reduce_prod %i axes = [0, 1] keepdims = true : tensor<2x3xi32> -> tensor<1x1xi32>
func.func @prod(%x: tensor<2x3xf32>, %i: tensor<2x3xi32>) {
  %0 = graph.reduce_prod %x axes = [1] : tensor<2x3xf32> -> tensor<2xf32>
  %1 = graph.reduce_prod %i axes = [0, 1] keepdims = true : tensor<2x3xi32> -> tensor<1x1xi32>
  func.return
}

// No axes: no reduction.
// CHECK-LABEL: func.func @no_axes(
// CHECK-NEXT: %0 = graph.reduce_sum %x axes = [] : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @no_axes(%x: tensor<2x3xf32>) {
  %0 = graph.reduce_sum %x axes = [] : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// Keeping no dims is the default.
// CHECK-LABEL: func.func @defaults(
// CHECK-NEXT: %0 = graph.reduce_sum %x axes = [0, 1] : tensor<2x3xf32> -> tensor<f32>
func.func @defaults(%x: tensor<2x3xf32>) {
  %0 = graph.reduce_sum %x axes = [0, 1] keepdims = false : tensor<2x3xf32> -> tensor<f32>
  func.return
}
