// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @matrices(
// CHECK-NEXT: %0 = graph.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
func.func @matrices(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  %0 = graph.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  func.return
}

// Batch dimensions broadcast.
// CHECK-LABEL: func.func @batches(
// CHECK-NEXT: %0 = graph.matmul %x, %y : tensor<5x1x2x3xi32>, tensor<7x3x4xi32> -> tensor<5x7x2x4xi32>
func.func @batches(%x: tensor<5x1x2x3xi32>, %y: tensor<7x3x4xi32>) {
  %0 = graph.matmul %x, %y : tensor<5x1x2x3xi32>, tensor<7x3x4xi32> -> tensor<5x7x2x4xi32>
  func.return
}

// CHECK-LABEL: func.func @narrow(
// CHECK-NEXT: %0 = graph.matmul %x, %y to = i32 : tensor<2x3xui8>, tensor<3x4xi16> -> tensor<2x4xi32>
func.func @narrow(%x: tensor<2x3xui8>, %y: tensor<3x4xi16>) {
  %0 = graph.matmul %x, %y to = i32 : tensor<2x3xui8>, tensor<3x4xi16> -> tensor<2x4xi32>
  func.return
}

// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT: %0 = graph.matmul %x, %y {note = 1 : i64} : tensor<2x0xf64>, tensor<0x4xf64> -> tensor<2x4xf64>
func.func @nothing(%x: tensor<2x0xf64>, %y: tensor<0x4xf64>) {
  %0 = graph.matmul %x, %y {note = 1 : i64} : tensor<2x0xf64>, tensor<0x4xf64> -> tensor<2x4xf64>
  func.return
}

// CHECK-LABEL: func.func @stored(
// CHECK-NEXT: %0 = graph.matmul %x, %y to = f32 : tensor<2x3xf32>, tensor<3x4xf16> -> tensor<2x4xf32>
func.func @stored(%x: tensor<2x3xf32>, %y: tensor<3x4xf16>) {
  %0 = graph.matmul %x, %y to = f32 : tensor<2x3xf32>, tensor<3x4xf16> -> tensor<2x4xf32>
  func.return
}
