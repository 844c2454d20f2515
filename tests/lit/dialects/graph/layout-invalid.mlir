// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1, a block
// expected-error @below {{C1: expected numbers >= 0, found block = [-1], halo = []}}
func.func @block(%x: tensor<4xf32, #graph.layout<block = [-1], halo = []>>) {
  func.return
}

// -----

// C1, a halo
// expected-error @below {{C1: expected numbers >= 0, found block = [0], halo = [0, -1]}}
func.func @halo(%x: tensor<4xf32, #graph.layout<block = [0], halo = [0, -1]>>) {
  func.return
}

// -----

// C2, an odd halo
// expected-error @below {{C2: expected two halos for each trailing dimension, found block = [0], halo = [1]}}
func.func @odd(%x: tensor<4xf32, #graph.layout<block = [0], halo = [1]>>) {
  func.return
}

// -----

// C2, too many halos
// expected-error @below {{C2: expected two halos for each trailing dimension, found block = [0], halo = [1, 1, 1, 1]}}
func.func @many(%x: tensor<4xf32, #graph.layout<block = [0], halo = [1, 1, 1, 1]>>) {
  func.return
}
