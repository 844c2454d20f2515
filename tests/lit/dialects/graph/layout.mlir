// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK: func.func @blocks(%x: tensor<1x64x8x8xf32, #graph.layout<block = [0, 16, 0, 0], halo = [1, 1, 2, 2]>>) {
func.func @blocks(%x: tensor<1x64x8x8xf32, #graph.layout<block = [0, 16, 0, 0], halo = [1, 1, 2, 2]>>) {
  func.return
}

// CHECK: func.func @no_halo(%x: tensor<4xf32, #graph.layout<block = [0], halo = []>>) {
func.func @no_halo(%x: tensor<4xf32, #graph.layout<block = [0], halo = []>>) {
  func.return
}
