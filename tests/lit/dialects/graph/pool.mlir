// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @pools(
// CHECK-NEXT: %0 = graph.max_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
// CHECK-NEXT: %1 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
func.func @pools(%x: tensor<1x4x7x7xf32>) {
  %0 = graph.max_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  %1 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}

// A last window that does not fit counts with ceil_mode.
// CHECK-LABEL: func.func @ceil(
// CHECK-NEXT: %0 = graph.max_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] ceil_mode = true : tensor<1x4x7x7xf32> -> tensor<1x4x4x4xf32>
// CHECK-NEXT: %1 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] ceil_mode = true count_include_pad = true : tensor<1x4x7x7xf32> -> tensor<1x4x4x4xf32>
func.func @ceil(%x: tensor<1x4x7x7xf32>) {
  %0 = graph.max_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] ceil_mode = true : tensor<1x4x7x7xf32> -> tensor<1x4x4x4xf32>
  %1 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] ceil_mode = true count_include_pad = true : tensor<1x4x7x7xf32> -> tensor<1x4x4x4xf32>
  func.return
}

// But not when it starts in the end's padding.
// CHECK-LABEL: func.func @ceil_in_padding(
// CHECK-NEXT: %0 = graph.max_pool %x window = [2] strides = [3] pads = [1, 1] dilations = [1] ceil_mode = true : tensor<1x1x5xf32> -> tensor<1x1x2xf32>
func.func @ceil_in_padding(%x: tensor<1x1x5xf32>) {
  %0 = graph.max_pool %x window = [2] strides = [3] pads = [1, 1] dilations = [1] ceil_mode = true : tensor<1x1x5xf32> -> tensor<1x1x2xf32>
  func.return
}

// Integers have a maximum, too; any spatial rank.
// CHECK-LABEL: func.func @others(
// CHECK-NEXT: %0 = graph.max_pool %x window = [3] strides = [1] pads = [1, 1] dilations = [2] : tensor<1x1x5xui8> -> tensor<1x1x3xui8>
// CHECK-NEXT: %1 = graph.avg_pool %y window = [2, 2, 2] strides = [2, 2, 2] pads = [0, 0, 0, 0, 0, 0] dilations = [1, 1, 1] count_include_pad = true : tensor<1x1x4x4x4xf64> -> tensor<1x1x2x2x2xf64>
func.func @others(%x: tensor<1x1x5xui8>, %y: tensor<1x1x4x4x4xf64>) {
  %0 = graph.max_pool %x window = [3] strides = [1] pads = [1, 1] dilations = [2] : tensor<1x1x5xui8> -> tensor<1x1x3xui8>
  %1 = graph.avg_pool %y window = [2, 2, 2] strides = [2, 2, 2] pads = [0, 0, 0, 0, 0, 0] dilations = [1, 1, 1] count_include_pad = true : tensor<1x1x4x4x4xf64> -> tensor<1x1x2x2x2xf64>
  func.return
}

// What is false may be left out.
// CHECK-LABEL: func.func @defaults(
// CHECK-NEXT: %0 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
func.func @defaults(%x: tensor<1x4x7x7xf32>) {
  %0 = graph.avg_pool %x window = [2, 2] strides = [2, 2] pads = [0, 0, 0, 0] dilations = [1, 1] ceil_mode = false count_include_pad = false : tensor<1x4x7x7xf32> -> tensor<1x4x3x3xf32>
  func.return
}
