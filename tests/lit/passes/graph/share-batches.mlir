// RUN: inarch-opt %s -p share-batches --split-input-file | filecheck %s

// Heads of keys and values that three heads of queries share each: products broadcast, nobody copies.
// CHECK-LABEL: @grouped
// CHECK-NOT:  graph.broadcast_to
// CHECK:      %[[KT:.*]] = graph.transpose %k perm = [0, 1, 2, 4, 3] : tensor<1x2x1x7x5xf32> -> tensor<1x2x1x5x7xf32>
// CHECK-NEXT: %[[Q:.*]] = graph.reshape %q shape = [1, 2, 3, 4, 5]
// CHECK-NEXT: %[[S:.*]] = graph.matmul %[[Q]], %[[KT]] : tensor<1x2x3x4x5xf32>, tensor<1x2x1x5x7xf32> -> tensor<1x2x3x4x7xf32>
// CHECK:      %[[MASK:.*]] = graph.reshape %mask shape = [1, 1, 1, 4, 7]
// CHECK-NEXT: graph.add %[[S]], %[[MASK]]
// CHECK:      %[[BIAS:.*]] = graph.reshape %bias shape = [2, 3, 4, 1] : tensor<6x4x1xf32>
// CHECK-NEXT: graph.mul {{.*}}, %[[BIAS]]
// CHECK:      graph.reduce_max {{.*}} axes = [4] keepdims
// CHECK:      %[[P:.*]] = graph.div {{.*}} tensor<1x2x3x4x7xf32>
// CHECK:      %[[Y:.*]] = graph.matmul %[[P]], %v : tensor<1x2x3x4x7xf32>, tensor<1x2x1x7x5xf32> -> tensor<1x2x3x4x5xf32>
// CHECK-NEXT: %[[OUT:.*]] = graph.reshape %[[Y]] shape = [1, 6, 4, 5]
// CHECK-NEXT: func.return %[[OUT]]
func.func @grouped(%q: tensor<1x6x4x5xf32>, %k: tensor<1x2x1x7x5xf32>, %v: tensor<1x2x1x7x5xf32>, %mask: tensor<1x1x4x7xf32>, %bias: tensor<6x4x1xf32>) -> tensor<1x6x4x5xf32> {
  %0 = graph.broadcast_to %k shape = [1, 2, 3, 7, 5] : tensor<1x2x1x7x5xf32> -> tensor<1x2x3x7x5xf32>
  %1 = graph.reshape %0 shape = [1, 6, 7, 5] : tensor<1x2x3x7x5xf32> -> tensor<1x6x7x5xf32>
  %2 = graph.broadcast_to %v shape = [1, 2, 3, 7, 5] : tensor<1x2x1x7x5xf32> -> tensor<1x2x3x7x5xf32>
  %3 = graph.reshape %2 shape = [1, 6, 7, 5] : tensor<1x2x3x7x5xf32> -> tensor<1x6x7x5xf32>
  %4 = graph.transpose %1 perm = [0, 1, 3, 2] : tensor<1x6x7x5xf32> -> tensor<1x6x5x7xf32>
  %5 = graph.matmul %q, %4 : tensor<1x6x4x5xf32>, tensor<1x6x5x7xf32> -> tensor<1x6x4x7xf32>
  %6 = graph.add %5, %mask : tensor<1x6x4x7xf32>, tensor<1x1x4x7xf32> -> tensor<1x6x4x7xf32>
  %b = graph.mul %6, %bias : tensor<1x6x4x7xf32>, tensor<6x4x1xf32> -> tensor<1x6x4x7xf32>
  %7 = graph.reduce_max %b axes = [3] keepdims = true : tensor<1x6x4x7xf32> -> tensor<1x6x4x1xf32>
  %8 = graph.sub %b, %7 : tensor<1x6x4x7xf32>, tensor<1x6x4x1xf32> -> tensor<1x6x4x7xf32>
  %9 = graph.exp %8 : tensor<1x6x4x7xf32> -> tensor<1x6x4x7xf32>
  %10 = graph.reduce_sum %9 axes = [3] keepdims = true : tensor<1x6x4x7xf32> -> tensor<1x6x4x1xf32>
  %11 = graph.div %9, %10 : tensor<1x6x4x7xf32>, tensor<1x6x4x1xf32> -> tensor<1x6x4x7xf32>
  %12 = graph.matmul %11, %3 : tensor<1x6x4x7xf32>, tensor<1x6x7x5xf32> -> tensor<1x6x4x5xf32>
  func.return %12 : tensor<1x6x4x5xf32>
}

// -----

// All heads one after the other, and again (Tile); a scale and transposes on the way.
// CHECK-LABEL: @tiled
// CHECK-NOT:  graph.broadcast_to
// CHECK:      %[[HALF:.*]] = graph.mul %k, %h : tensor<1x2x7x5xf32>, tensor<1xf32> -> tensor<1x2x7x5xf32>
// CHECK:      %[[KT:.*]] = graph.transpose %[[HALF]] perm = [3, 0, 1, 2] : tensor<1x2x7x5xf32> -> tensor<5x1x2x7xf32>
// CHECK:      %[[K:.*]] = graph.transpose %[[KT]] perm = [1, 2, 0, 3]
// CHECK:      graph.matmul {{.*}}, %[[K]] : tensor<3x2x4x5xf32>, tensor<1x2x5x7xf32> -> tensor<3x2x4x7xf32>
// CHECK:      graph.reshape {{.*}} shape = [6, 4, 7]
func.func @tiled(%q: tensor<6x4x5xf32>, %k: tensor<1x2x7x5xf32>, %h: tensor<1xf32>) -> tensor<6x4x7xf32> {
  %0 = graph.broadcast_to %k shape = [3, 2, 7, 5] : tensor<1x2x7x5xf32> -> tensor<3x2x7x5xf32>
  %1 = graph.reshape %0 shape = [6, 7, 5] : tensor<3x2x7x5xf32> -> tensor<6x7x5xf32>
  %2 = graph.mul %1, %h : tensor<6x7x5xf32>, tensor<1xf32> -> tensor<6x7x5xf32>
  %3 = graph.transpose %2 perm = [2, 0, 1] : tensor<6x7x5xf32> -> tensor<5x6x7xf32>
  %4 = graph.transpose %3 perm = [1, 0, 2] : tensor<5x6x7xf32> -> tensor<6x5x7xf32>
  %5 = graph.matmul %q, %4 : tensor<6x4x5xf32>, tensor<6x5x7xf32> -> tensor<6x4x7xf32>
  func.return %5 : tensor<6x4x7xf32>
}

// -----

// What is repeated is summed up, or a row of the matrices: no batch.
// CHECK-LABEL: @matrices
// CHECK-COUNT-2: graph.broadcast_to
// CHECK:      graph.matmul {{.*}} tensor<6x5xf32>, tensor<5x6xf32>
func.func @matrices(%a: tensor<2x1x5xf32>, %b: tensor<5x1x2xf32>) -> tensor<6x6xf32> {
  %0 = graph.broadcast_to %a shape = [2, 3, 5] : tensor<2x1x5xf32> -> tensor<2x3x5xf32>
  %1 = graph.reshape %0 shape = [6, 5] : tensor<2x3x5xf32> -> tensor<6x5xf32>
  %2 = graph.broadcast_to %b shape = [5, 3, 2] : tensor<5x1x2xf32> -> tensor<5x3x2xf32>
  %3 = graph.reshape %2 shape = [5, 6] : tensor<5x3x2xf32> -> tensor<5x6xf32>
  %4 = graph.matmul %1, %3 : tensor<6x5xf32>, tensor<5x6xf32> -> tensor<6x6xf32>
  func.return %4 : tensor<6x6xf32>
}

// -----

// CHECK-LABEL: @rows
// CHECK:      graph.broadcast_to
// CHECK:      graph.matmul {{.*}} tensor<6x6xf32>, tensor<6x6xf32>
func.func @rows(%a: tensor<2x1x6xf32>, %b: tensor<6x6xf32>) -> tensor<6x6xf32> {
  %0 = graph.broadcast_to %a shape = [2, 3, 6] : tensor<2x1x6xf32> -> tensor<2x3x6xf32>
  %1 = graph.reshape %0 shape = [6, 6] : tensor<2x3x6xf32> -> tensor<6x6xf32>
  %2 = graph.matmul %1, %b : tensor<6x6xf32>, tensor<6x6xf32> -> tensor<6x6xf32>
  func.return %2 : tensor<6x6xf32>
}

// -----

// Two operands that are split in two ways stay as they are, and so does what reduces along the heads.
// CHECK-LABEL: @two_ways
// CHECK-COUNT-2: graph.broadcast_to
// CHECK:      graph.matmul {{.*}} tensor<6x4x5xf32>, tensor<6x5x7xf32>
func.func @two_ways(%a: tensor<2x1x4x5xf32>, %b: tensor<3x1x5x7xf32>) -> tensor<1x4x7xf32> {
  %0 = graph.broadcast_to %a shape = [2, 3, 4, 5] : tensor<2x1x4x5xf32> -> tensor<2x3x4x5xf32>
  %1 = graph.reshape %0 shape = [6, 4, 5] : tensor<2x3x4x5xf32> -> tensor<6x4x5xf32>
  %2 = graph.broadcast_to %b shape = [3, 2, 5, 7] : tensor<3x1x5x7xf32> -> tensor<3x2x5x7xf32>
  %3 = graph.reshape %2 shape = [6, 5, 7] : tensor<3x2x5x7xf32> -> tensor<6x5x7xf32>
  %4 = graph.matmul %1, %3 : tensor<6x4x5xf32>, tensor<6x5x7xf32> -> tensor<6x4x7xf32>
  %5 = graph.reduce_sum %4 axes = [0] keepdims = true : tensor<6x4x7xf32> -> tensor<1x4x7xf32>
  func.return %5 : tensor<1x4x7xf32>
}

// -----

// The sum over heads, between two products, is done on what one reshape gives.
// CHECK-LABEL: @summed
// CHECK:      graph.matmul {{.*}} -> tensor<2x3x4x5xf32>
// CHECK:      graph.reduce_sum {{.*}} axes = [0] keepdims = true : tensor<6x4x5xf32> -> tensor<1x4x5xf32>
// CHECK:      graph.add {{.*}} tensor<2x3x4x5xf32>, tensor<1x1x4x5xf32>
// CHECK:      graph.matmul {{.*}} -> tensor<2x3x4x5xf32>
func.func @summed(%q: tensor<6x4x5xf32>, %k: tensor<2x1x5x5xf32>) -> tensor<6x4x5xf32> {
  %0 = graph.broadcast_to %k shape = [2, 3, 5, 5] : tensor<2x1x5x5xf32> -> tensor<2x3x5x5xf32>
  %1 = graph.reshape %0 shape = [6, 5, 5] : tensor<2x3x5x5xf32> -> tensor<6x5x5xf32>
  %2 = graph.matmul %q, %1 : tensor<6x4x5xf32>, tensor<6x5x5xf32> -> tensor<6x4x5xf32>
  %3 = graph.reduce_sum %2 axes = [0] keepdims = true : tensor<6x4x5xf32> -> tensor<1x4x5xf32>
  %4 = graph.add %2, %3 : tensor<6x4x5xf32>, tensor<1x4x5xf32> -> tensor<6x4x5xf32>
  %5 = graph.matmul %4, %1 : tensor<6x4x5xf32>, tensor<6x5x5xf32> -> tensor<6x4x5xf32>
  func.return %5 : tensor<6x4x5xf32>
}

// -----

// An image that is made larger stays as it is: no product reads it.
// CHECK-LABEL: @larger
// CHECK:      graph.broadcast_to
// CHECK-NEXT: graph.reshape {{.*}} shape = [1, 2, 6]
// CHECK-NEXT: graph.relu
func.func @larger(%x: tensor<1x2x3x1xf32>) -> tensor<1x2x6xf32> {
  %0 = graph.broadcast_to %x shape = [1, 2, 3, 2] : tensor<1x2x3x1xf32> -> tensor<1x2x3x2xf32>
  %1 = graph.reshape %0 shape = [1, 2, 6] : tensor<1x2x3x2xf32> -> tensor<1x2x6xf32>
  %2 = graph.relu %1 : tensor<1x2x6xf32> -> tensor<1x2x6xf32>
  func.return %2 : tensor<1x2x6xf32>
}
