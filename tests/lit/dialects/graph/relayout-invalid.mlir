// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C0, another shape
func.func @shape(%x: tensor<1x32x4x4xf32>) {
  // expected-error @below {{'graph.relayout' C0: expected result 0 of type tensor<1x32x4x4xf32>, found tensor<1x16x4x4xf32>}}
  %0 = graph.relayout %x : tensor<1x32x4x4xf32> -> tensor<1x16x4x4xf32>
  func.return
}

// -----

// C0, a layout of another rank
func.func @rank(%x: tensor<1x32xf32>) {
  // expected-error @below {{'graph.relayout' C0: expected a layout with 2 blocks, found tensor<1x32xf32, #graph.layout<block = [0, 16, 0], halo = []>>}}
  %0 = graph.relayout %x : tensor<1x32xf32> -> tensor<1x32xf32, #graph.layout<block = [0, 16, 0], halo = []>>
  func.return
}

// -----

// C0, an op whose elements are in row-major order by its definition
func.func @reshape(%x: tensor<1x32xf32>) {
  %0 = graph.relayout %x : tensor<1x32xf32> -> tensor<1x32xf32, #graph.layout<block = [0, 16], halo = []>>
  // expected-error @below {{'graph.reshape' C0: expected row-major tensors only, found tensor<1x32xf32, #graph.layout<block = [0, 16], halo = []>>}}
  %1 = graph.reshape %0 shape = [32] : tensor<1x32xf32, #graph.layout<block = [0, 16], halo = []>> -> tensor<32xf32>
  func.return
}
