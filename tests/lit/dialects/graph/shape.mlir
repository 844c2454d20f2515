// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @reshape(
// CHECK-NEXT: %0 = graph.reshape %x shape = [3, 1, 2] : tensor<2x3xf32> -> tensor<3x1x2xf32>
func.func @reshape(%x: tensor<2x3xf32>) {
  %0 = graph.reshape %x shape = [3, 1, 2] : tensor<2x3xf32> -> tensor<3x1x2xf32>
  func.return
}

// CHECK-LABEL: func.func @reshape_scalar(
// CHECK-NEXT: %0 = graph.reshape %x shape = [] : tensor<i1> -> tensor<i1>
func.func @reshape_scalar(%x: tensor<i1>) {
  %0 = graph.reshape %x shape = [] : tensor<i1> -> tensor<i1>
  func.return
}

// CHECK-LABEL: func.func @transpose(
// CHECK-NEXT: %0 = graph.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
func.func @transpose(%x: tensor<2x3xf32>) {
  %0 = graph.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  func.return
}

// CHECK-LABEL: func.func @broadcast_to(
// CHECK-NEXT: %0 = graph.broadcast_to %x shape = [2, 3, 4] : tensor<3x1xi8> -> tensor<2x3x4xi8>
func.func @broadcast_to(%x: tensor<3x1xi8>) {
  %0 = graph.broadcast_to %x shape = [2, 3, 4] : tensor<3x1xi8> -> tensor<2x3x4xi8>
  func.return
}

// CHECK-LABEL: func.func @concat(
// CHECK-NEXT: %0 = graph.concat %x, %y, %x axis = 1 : tensor<2x3xf32>, tensor<2x0xf32>, tensor<2x3xf32> -> tensor<2x6xf32>
// CHECK-NEXT: %1 = graph.concat %x axis = 0 : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x0xf32>) {
  %0 = graph.concat %x, %y, %x axis = 1 : tensor<2x3xf32>, tensor<2x0xf32>, tensor<2x3xf32> -> tensor<2x6xf32>
  %1 = graph.concat %x axis = 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @slice(
// CHECK-NEXT: %0 = graph.slice %x starts = [1, 0] sizes = [2, 2] steps = [-1, 2] : tensor<2x3xf32> -> tensor<2x2xf32>
// CHECK-NEXT: %1 = graph.slice %x starts = [5, 0] sizes = [0, 3] steps = [1, 1] : tensor<2x3xf32> -> tensor<0x3xf32>
func.func @slice(%x: tensor<2x3xf32>) {
  %0 = graph.slice %x starts = [1, 0] sizes = [2, 2] steps = [-1, 2] : tensor<2x3xf32> -> tensor<2x2xf32>
  %1 = graph.slice %x starts = [5, 0] sizes = [0, 3] steps = [1, 1] : tensor<2x3xf32> -> tensor<0x3xf32>
  func.return
}

// CHECK-LABEL: func.func @pad(
// CHECK-NEXT: %0 = graph.pad %x low = [1, 0] high = [0, 2] value = 0.5 : tensor<2x3xf32> -> tensor<3x5xf32>
// CHECK-NEXT: %1 = graph.pad %i low = [1] high = [0] value = 255.0 : tensor<2xui8> -> tensor<3xui8>
func.func @pad(%x: tensor<2x3xf32>, %i: tensor<2xui8>) {
  %0 = graph.pad %x low = [1, 0] high = [0, 2] value = 0.5 : tensor<2x3xf32> -> tensor<3x5xf32>
  %1 = graph.pad %i low = [1] high = [0] value = 255.0 : tensor<2xui8> -> tensor<3xui8>
  func.return
}

// Infinities and NaN keep their spelling.
// CHECK-LABEL: func.func @pad_specials(
// CHECK-NEXT: %0 = graph.pad %x low = [1, 0] high = [0, 0] value = -inf : tensor<2x3xf32> -> tensor<3x3xf32>
// CHECK-NEXT: %1 = graph.pad %x low = [1, 0] high = [0, 0] value = inf : tensor<2x3xf32> -> tensor<3x3xf32>
// CHECK-NEXT: %2 = graph.pad %x low = [1, 0] high = [0, 0] value = nan : tensor<2x3xf32> -> tensor<3x3xf32>
// CHECK-NEXT: %3 = graph.pad %x low = [1, 0] high = [0, 0] value = -0.0 : tensor<2x3xf32> -> tensor<3x3xf32>
// CHECK-NEXT: %4 = graph.pad %x low = [1, 0] high = [0, 0] value = 1.0e-40 : tensor<2x3xf32> -> tensor<3x3xf32>
func.func @pad_specials(%x: tensor<2x3xf32>) {
  %0 = graph.pad %x low = [1, 0] high = [0, 0] value = -inf : tensor<2x3xf32> -> tensor<3x3xf32>
  %1 = graph.pad %x low = [1, 0] high = [0, 0] value = inf : tensor<2x3xf32> -> tensor<3x3xf32>
  %2 = graph.pad %x low = [1, 0] high = [0, 0] value = nan : tensor<2x3xf32> -> tensor<3x3xf32>
  %3 = graph.pad %x low = [1, 0] high = [0, 0] value = -0.0 : tensor<2x3xf32> -> tensor<3x3xf32>
  %4 = graph.pad %x low = [1, 0] high = [0, 0] value = 1.0e-40 : tensor<2x3xf32> -> tensor<3x3xf32>
  func.return
}

// The encoding of a result is free.
// CHECK-LABEL: func.func @layouts(
// CHECK-NEXT: %0 = graph.transpose %x perm = [0, 1, 2, 3] : tensor<1x64x8x8xf32> -> tensor<1x64x8x8xf32, #graph.layout<block = [0, 16, 0, 0], halo = [1, 1, 1, 1]>>
func.func @layouts(%x: tensor<1x64x8x8xf32>) {
  %0 = graph.transpose %x perm = [0, 1, 2, 3] : tensor<1x64x8x8xf32> -> tensor<1x64x8x8xf32, #graph.layout<block = [0, 16, 0, 0], halo = [1, 1, 1, 1]>>
  func.return
}
