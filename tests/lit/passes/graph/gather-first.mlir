// RUN: inarch-opt %s --split-input-file -p gather-first | filecheck %s
// RUN: inarch-opt %s --split-input-file -p gather-first --verify-semantics -o %t

// A table of bytes is dequantized where its rows are used, by numbers, by columns, and by rows, which are picked.
// CHECK-LABEL: @embedding
// CHECK-NEXT:    %[[ROWS:.*]] = graph.gather %table, %ids axis = 0 : tensor<90x4xui8>, tensor<2x3xi64> -> tensor<2x3x4xui8>
// CHECK-NEXT:    %[[WIDE:.*]] = graph.cast %[[ROWS]] to f32 : tensor<2x3x4xui8> -> tensor<2x3x4xf32>
// CHECK-NEXT:    %[[LESS:.*]] = graph.sub %[[WIDE]], %zero
// CHECK-NEXT:    %[[SCALES:.*]] = graph.gather %scale, %ids axis = 0 : tensor<90x1xf32>, tensor<2x3xi64> -> tensor<2x3x1xf32>
// CHECK-NEXT:    %[[ALL:.*]] = graph.mul %[[LESS]], %[[SCALES]] : tensor<2x3x4xf32>, tensor<2x3x1xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:    %{{.*}} = graph.add %[[ALL]], %bias : tensor<2x3x4xf32>, tensor<4xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:    func.return
func.func @embedding(%table: tensor<90x4xui8>, %zero: tensor<f32>, %scale: tensor<90x1xf32>, %bias: tensor<4xf32>, %ids: tensor<2x3xi64>) -> tensor<2x3x4xf32> {
  %0 = graph.cast %table to f32 : tensor<90x4xui8> -> tensor<90x4xf32>
  %1 = graph.sub %0, %zero : tensor<90x4xf32>, tensor<f32> -> tensor<90x4xf32>
  %2 = graph.mul %1, %scale : tensor<90x4xf32>, tensor<90x1xf32> -> tensor<90x4xf32>
  %3 = graph.add %2, %bias : tensor<90x4xf32>, tensor<4xf32> -> tensor<90x4xf32>
  %4 = graph.gather %3, %ids axis = 0 : tensor<90x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
  func.return %4 : tensor<2x3x4xf32>
}

// -----

// Two gathers of one table move together.
// CHECK-LABEL: @two
// CHECK-COUNT-2: graph.gather %table
// CHECK-NOT:   graph.gather
func.func @two(%table: tensor<90x4xf32>, %a: tensor<3xi64>, %b: tensor<5xi64>) -> (tensor<3x4xf32>, tensor<5x4xf32>) {
  %0 = graph.relu %table : tensor<90x4xf32> -> tensor<90x4xf32>
  %1 = graph.gather %0, %a axis = 0 : tensor<90x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  %2 = graph.gather %0, %b axis = 0 : tensor<90x4xf32>, tensor<5xi64> -> tensor<5x4xf32>
  func.return %1, %2 : tensor<3x4xf32>, tensor<5x4xf32>
}

// -----

// It stays where more is picked than there is, and where others read the table.
// CHECK-LABEL: @stays
// CHECK:       graph.gather %0, %many
// CHECK:       graph.gather %2, %few
func.func @stays(%x: tensor<4x4xf32>, %many: tensor<9xi64>, %few: tensor<2xi64>) -> (tensor<9x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) {
  %0 = graph.relu %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = graph.gather %0, %many axis = 0 : tensor<4x4xf32>, tensor<9xi64> -> tensor<9x4xf32>
  %2 = graph.abs %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = graph.gather %2, %few axis = 0 : tensor<4x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
  func.return %1, %3, %2 : tensor<9x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>
}
