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
  // expected-error @below {{expected an op that keeps the zeros behind the last block, found 'graph.exp'; choose a block that divides the size}}
  %1 = graph.exp %0 : tensor<12xf32, #graph.layout<block = [8], halo = []>> -> tensor<12xf32, #graph.layout<block = [8], halo = []>>
  func.return
}

// -----

// Nor does padding by another number.
func.func @padding(%x: tensor<1x12x4xf32>) {
  %0 = graph.relayout %x : tensor<1x12x4xf32> -> tensor<1x12x4xf32, #graph.layout<block = [0, 8, 0], halo = []>>
  // expected-error @below {{expected an op that keeps the zeros behind the last block, found 'graph.pad'; choose a block that divides the size}}
  %1 = graph.pad %0 low = [0, 0, 1] high = [0, 0, 0] value = 1.0 : tensor<1x12x4xf32, #graph.layout<block = [0, 8, 0], halo = []>> -> tensor<1x12x5xf32, #graph.layout<block = [0, 8, 0], halo = []>>
  func.return
}

// -----

// A maximum over channels would be one with the zeros behind them.
func.func @reduction(%x: tensor<1x12x4xf32>) {
  %0 = graph.relayout %x : tensor<1x12x4xf32> -> tensor<1x12x4xf32, #graph.layout<block = [0, 8, 0], halo = []>>
  // expected-error @below {{expected an op that keeps the zeros behind the last block, found 'graph.reduce_max'; choose a block that divides the size}}
  %1 = graph.reduce_max %0 axes = [1] : tensor<1x12x4xf32, #graph.layout<block = [0, 8, 0], halo = []>> -> tensor<1x4xf32>
  func.return
}
