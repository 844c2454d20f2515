// RUN: inarch-opt %s -p keep-packed --remarks 2>&1 | filecheck %s

// CHECK:       remark: [keep-packed] its weights stay packed
// CHECK-LABEL: @product
// CHECK-NEXT:  %[[ROWS:.*]] = graph.reshape %x shape = [6, 64]
// CHECK-NEXT:  %[[OUT:.*]] = graph.matmul_packed %[[ROWS]] weights %w scale %s bits = 4
// CHECK-NEXT:  graph.reshape %[[OUT]] shape = [2, 3, 5]
func.func @product(%x: tensor<2x3x64xf32>, %w: tensor<5x8xi32>, %s: tensor<5x2xf32>) -> tensor<2x3x5xf32> {
  %0 = graph.dequantize_packed %w scale %s bits = 4 : tensor<5x8xi32>, tensor<5x2xf32> -> tensor<5x64xf32>
  %1 = graph.transpose %0 perm = [1, 0] : tensor<5x64xf32> -> tensor<64x5xf32>
  %2 = graph.matmul %x, %1 : tensor<2x3x64xf32>, tensor<64x5xf32> -> tensor<2x3x5xf32>
  func.return %2 : tensor<2x3x5xf32>
}

// The blocks are along the outputs.
// CHECK-LABEL: @other
// CHECK:       graph.matmul %x
func.func @other(%x: tensor<2x5xf32>, %w: tensor<5x8xi32>, %s: tensor<5x2xf32>) -> tensor<2x64xf32> {
  %0 = graph.dequantize_packed %w scale %s bits = 4 : tensor<5x8xi32>, tensor<5x2xf32> -> tensor<5x64xf32>
  %1 = graph.matmul %x, %0 : tensor<2x5xf32>, tensor<5x64xf32> -> tensor<2x64xf32>
  func.return %1 : tensor<2x64xf32>
}
