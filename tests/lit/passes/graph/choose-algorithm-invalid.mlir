// RUN: not inarch-opt %s -p choose-algorithm 2>&1 | filecheck %s

// What fills up a block of channels is 0 in constant weights alone.
builtin.module attributes {inarch.target = "x86-64-v3", inarch.algorithms = ["conv=winograd-2x2"]} {
  func.func @main(%x: tensor<1x36x6x6xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>, %w: tensor<40x36x3x3xf32>) -> tensor<1x40x6x6xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>> {
    // CHECK: invalid.mlir:7:5: error: algorithm 'conv=winograd-2x2' does not apply to 'graph.conv': expected constant weights, or whole blocks of 8 channels, found weights that are arguments, of 36 and 40
    %0 = graph.conv %x, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x36x6x6xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>, tensor<40x36x3x3xf32> -> tensor<1x40x6x6xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    func.return %0 : tensor<1x40x6x6xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
  }
}
