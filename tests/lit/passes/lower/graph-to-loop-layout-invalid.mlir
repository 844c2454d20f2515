// RUN: inarch-opt %s --split-input-file --verify-diagnostics -p graph-to-loop

// Arguments and results lie as their callers expect them.
// expected-error @below {{expected row-major arguments and results, found tensor<1x16xf32, #graph.layout<block = [0, 16], halo = []>>; use graph.relayout}}
func.func @argument(%x: tensor<1x16xf32, #graph.layout<block = [0, 16], halo = []>>) {
  func.return
}

// -----

// The sum of a row and a column is no index of whole blocks.
func.func @overlap(%x: tensor<1x1x16xf32>, %w: tensor<1x1x3xf32>) {
  %0 = graph.relayout %x : tensor<1x1x16xf32> -> tensor<1x1x16xf32, #graph.layout<block = [0, 0, 8], halo = []>>
  // expected-error @below {{'graph.conv' has an index into blocks of 8 that is not one iterator beside multiples of it; expected a layout that graph-to-loop can split}}
  %1 = graph.conv %0, %w strides = [1] pads = [0, 0] dilations = [1] groups = 1 : tensor<1x1x16xf32, #graph.layout<block = [0, 0, 8], halo = []>>, tensor<1x1x3xf32> -> tensor<1x1x14xf32>
  func.return
}

// -----

func.func @two_blocks(%x: tensor<16xf32>) {
  %0 = graph.relayout %x : tensor<16xf32> -> tensor<16xf32, #graph.layout<block = [8], halo = []>>
  // expected-error @below {{'graph.relu' has iterator i0 in blocks of 8 and of 4; expected a layout that graph-to-loop can split}}
  %1 = graph.relu %0 : tensor<16xf32, #graph.layout<block = [8], halo = []>> -> tensor<16xf32, #graph.layout<block = [4], halo = []>>
  func.return
}

// -----

func.func @part_of_a_block(%x: tensor<16xf32>) {
  %0 = graph.relayout %x : tensor<16xf32> -> tensor<16xf32, #graph.layout<block = [8], halo = []>>
  // expected-error @below {{'graph.slice' has 12 of 16 elements in blocks of 8; expected a layout that graph-to-loop can split}}
  %1 = graph.slice %0 starts = [0] sizes = [12] steps = [1] : tensor<16xf32, #graph.layout<block = [8], halo = []>> -> tensor<12xf32>
  func.return
}

// -----

// What is behind the channels must be 0 everywhere: a convolution multiplies it by zeros.
func.func @exp_of_zero(%x: tensor<12xf32>) {
  %0 = graph.relayout %x : tensor<12xf32> -> tensor<12xf32, #graph.layout<block = [8], halo = []>>
  // expected-error @below {{'graph.exp' does not keep the zeros behind the channels of its result's layout; expected a block that divides the size}}
  %1 = graph.exp %0 : tensor<12xf32, #graph.layout<block = [8], halo = []>> -> tensor<12xf32, #graph.layout<block = [8], halo = []>>
  func.return
}
