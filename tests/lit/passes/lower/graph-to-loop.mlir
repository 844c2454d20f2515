// RUN: inarch-opt %s --split-input-file -p graph-to-loop | filecheck %s

// An elementwise op becomes the nest that it states; the result is a trailing argument.
func.func @add_broadcast(%a: tensor<2x3xf32> {inarch.name = "a"}, %b: tensor<3xf32>) -> (tensor<2x3xf32> {inarch.name = "out"}) {
  %0 = graph.add %a, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK:      func.func @add_broadcast(%a: memref<2x3xf32> {inarch.name = "a"}, %b: memref<3xf32>, %{{.*}}: memref<2x3xf32> {inarch.name = "out", inarch.result}) {
// CHECK-NEXT:   loop.nest (i0 = 2, i1 = 3) ins(%a[i0, i1] : memref<2x3xf32>, %b[i1] : memref<3xf32>) outs(%{{.*}}[i0, i1] : memref<2x3xf32>) {
// CHECK-NEXT:   ^bb0(%0: f32, %1: f32, %2: f32):
// CHECK-NEXT:     %3 = arith.addf %0, %1 : f32
// CHECK-NEXT:     loop.yield %3 : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

// -----

// Unsigned integers are signless below graph; the declared dtype stays on the argument.
func.func @unsigned_is_declared(%a: tensor<4xui8>) -> tensor<4xui8> {
  %0 = graph.add %a, %a : tensor<4xui8>, tensor<4xui8> -> tensor<4xui8>
  func.return %0 : tensor<4xui8>
}
// CHECK: func.func @unsigned_is_declared(%a: memref<4xi8> {inarch.dtype = "ui8"}, %{{.*}}: memref<4xi8> {inarch.result, inarch.dtype = "ui8"})

// -----

// A reshape is a view of the same memory, also when it is the output.
func.func @reshape_is_a_view(%a: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = graph.add %a, %a : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.reshape %0 shape = [6] : tensor<2x3xf32> -> tensor<6xf32>
  func.return %1 : tensor<6xf32>
}
// CHECK:      func.func @reshape_is_a_view(%a: memref<2x3xf32>, %[[OUT:.*]]: memref<6xf32> {inarch.result}) {
// CHECK-NEXT:   %[[VIEW:.*]] = loop.reshape %[[OUT]] : memref<6xf32> to memref<2x3xf32>
// CHECK-NEXT:   loop.nest {{.*}} outs(%[[VIEW]][i0, i1] : memref<2x3xf32>)
// CHECK-NOT:    loop.nest

// -----

// An output that is an input, and one that is a constant, are copied.
func.func @outputs_are_input_and_constant(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return %a, %0 : tensor<2xf32>, tensor<2xf32>
}
// CHECK:      func.func @outputs_are_input_and_constant(%a: memref<2xf32>, %[[X:.*]]: memref<2xf32> {inarch.result}, %[[Y:.*]]: memref<2xf32> {inarch.result}) {
// CHECK-NEXT:   %[[C:.*]] = loop.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : memref<2xf32>
// CHECK-NEXT:   loop.nest (i0 = 2) ins(%a[i0] : memref<2xf32>) outs(%[[X]][i0] : memref<2xf32>)
// CHECK:        loop.nest (i0 = 2) ins(%[[C]][i0] : memref<2xf32>) outs(%[[Y]][i0] : memref<2xf32>)

// -----

// A value that is returned twice is computed once.
func.func @returned_twice(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %0, %0 : tensor<2xf32>, tensor<2xf32>
}
// CHECK:      func.func @returned_twice(%a: memref<2xf32>, %[[X:.*]]: memref<2xf32> {inarch.result}, %[[Y:.*]]: memref<2xf32> {inarch.result}) {
// CHECK-NEXT:   loop.nest {{.*}} outs(%[[X]][i0] : memref<2xf32>)
// CHECK:        arith.addf
// CHECK:        loop.nest (i0 = 2) ins(%[[X]][i0] : memref<2xf32>) outs(%[[Y]][i0] : memref<2xf32>)

// -----

// The parts of a concatenation are written at their offsets.
func.func @concat_writes_parts(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>) -> tensor<3x3xf32> {
  %0 = graph.concat %a, %b axis = 0 : tensor<2x3xf32>, tensor<1x3xf32> -> tensor<3x3xf32>
  func.return %0 : tensor<3x3xf32>
}
// CHECK: func.func @concat_writes_parts
// CHECK:   loop.nest {{.*}} outs(%{{.*}}[i0, i1] : memref<3x3xf32>)
// CHECK:   loop.nest {{.*}} outs(%{{.*}}[i0 + 2, i1] : memref<3x3xf32>)

// -----

// A gather reads one of its indices.
func.func @gather(%a: tensor<4x5x3xf32>, %i: tensor<2x6xi64>) -> tensor<4x2x6x3xf32> {
  %0 = graph.gather %a, %i axis = 1 : tensor<4x5x3xf32>, tensor<2x6xi64> -> tensor<4x2x6x3xf32>
  func.return %0 : tensor<4x2x6x3xf32>
}
// CHECK: func.func @gather
// CHECK-NEXT: loop.nest (i0 = 4, i1 = 2, i2 = 6, i3 = 3) ins(%i[i1, i2] : memref<2x6xi64>, %a[i0, at(0), i3] : memref<4x5x3xf32>) outs(%{{.*}}[i0, i1, i2, i3] : memref<4x2x6x3xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %[[X:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:   loop.yield %[[X]] : f32

// -----

// Of one element, by an index without dimensions: no iterator.
func.func @gather_one(%a: tensor<5xf32>, %i: tensor<i32>) -> tensor<f32> {
  %0 = graph.gather %a, %i axis = 0 : tensor<5xf32>, tensor<i32> -> tensor<f32>
  func.return %0 : tensor<f32>
}
// CHECK: func.func @gather_one
// CHECK-NEXT: loop.nest () ins(%i[] : memref<i32>, %a[at(0)] : memref<5xf32>) outs(%{{.*}}[] : memref<f32>) {

// -----

// A tensor in a layout becomes a buffer of its physical shape: blocked channels are two iterators,
// those within a block innermost. A constant is read as it lies; padding stays.
func.func @blocked_channels(%x: tensor<1x32x4x4xf32>, %w: tensor<16x32x3x3xf32>) -> tensor<1x16x4x4xf32> {
  %0 = graph.relayout %x : tensor<1x32x4x4xf32> -> tensor<1x32x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
  %1 = graph.conv %0, %w strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x32x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>, tensor<16x32x3x3xf32> -> tensor<1x16x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
  %2 = graph.relayout %1 : tensor<1x16x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>> -> tensor<1x16x4x4xf32>
  func.return %2 : tensor<1x16x4x4xf32>
}
// CHECK:      func.func @blocked_channels
// CHECK-NEXT:   %[[X:.*]] = loop.alloc : memref<1x2x4x4x16xf32>
// CHECK-NEXT:   loop.nest (i0 = 1, i1_o = 2, i2 = 4, i3 = 4, i1_i = 16) ins(%x[i0, i1_o * 16 + i1_i, i2, i3] : memref<1x32x4x4xf32>) outs(%[[X]][i0, i1_o, i2, i3, i1_i] : memref<1x2x4x4x16xf32>)
// CHECK:        %[[Y:.*]] = loop.alloc : memref<1x1x4x4x16xf32>
// CHECK-NEXT:   loop.nest (n = 1, oc_o = 1, oh = 4, ow = 4, oc_i = 16, ic_o = 2 reduction, kh = 3 reduction, kw = 3 reduction, ic_i = 16 reduction)
// CHECK-SAME:     ins(%[[X]][n, ic_o, oh + kh - 1, ow + kw - 1, ic_i] pad 0.0 : memref<1x2x4x4x16xf32>, %w[oc_o * 16 + oc_i, ic_o * 16 + ic_i, kh, kw] : memref<16x32x3x3xf32>)
// CHECK-SAME:     outs(%[[Y]][n, oc_o, oh, ow, oc_i] init 0.0 : memref<1x1x4x4x16xf32>)
// CHECK:        loop.nest (i0 = 1, i1_o = 1, i2 = 4, i1_i = 16, i3 = 4) ins(%[[Y]][i0, i1_o, i2, i3, i1_i] : memref<1x1x4x4x16xf32>) outs(%{{.*}}[i0, i1_o * 16 + i1_i, i2, i3] : memref<1x16x4x4xf32>)

// -----

// With one pixel, blocked and row-major are the same memory: a view.
func.func @relayout_is_a_view(%x: tensor<1x32x1x1xf32>) -> tensor<1x32x1x1xf32> {
  %0 = graph.relayout %x : tensor<1x32x1x1xf32> -> tensor<1x32x1x1xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
  %1 = graph.relu %0 : tensor<1x32x1x1xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>> -> tensor<1x32x1x1xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
  %2 = graph.relayout %1 : tensor<1x32x1x1xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>> -> tensor<1x32x1x1xf32>
  %3 = graph.neg %2 : tensor<1x32x1x1xf32> -> tensor<1x32x1x1xf32>
  func.return %3 : tensor<1x32x1x1xf32>
}
// CHECK:      func.func @relayout_is_a_view
// CHECK-NEXT:   loop.reshape %x : memref<1x32x1x1xf32> to memref<1x2x1x1x16xf32>
// CHECK-NEXT:   loop.alloc
// CHECK-NEXT:   loop.nest
// CHECK:        loop.reshape %{{.*}} : memref<1x2x1x1x16xf32> to memref<1x32x1x1xf32>
// CHECK-NEXT:   loop.nest

// -----

// 20 channels in blocks of 16 are 32 in memory: the weights are filled up with zeros at compile time,
// the relayout reads 0 behind the channels, and the one back leaves them out.
func.func @filled_up(%x: tensor<1x20x4x4xf32>) -> tensor<1x20x4x4xf32> {
  %w = graph.constant dense<1.0> : tensor<20x20x1x1xf32>
  %0 = graph.relayout %x : tensor<1x20x4x4xf32> -> tensor<1x20x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
  %1 = graph.conv %0, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x20x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>, tensor<20x20x1x1xf32> -> tensor<1x20x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
  %2 = graph.relayout %1 : tensor<1x20x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>> -> tensor<1x20x4x4xf32>
  func.return %2 : tensor<1x20x4x4xf32>
}
// CHECK:      func.func @filled_up
// CHECK:        loop.nest {{.*}} ins(%x[i0, i1_o * 16 + i1_i, i2, i3] pad 0.0 : memref<1x20x4x4xf32>)
// CHECK:        %[[W:.*]] = loop.constant dense_resource<{{.*}}> : tensor<32x32x1x1xf32>
// CHECK:        loop.nest {{.*}} %[[W]][oc_o * 16 + oc_i, ic_o * 16 + ic_i, kh, kw] : memref<32x32x1x1xf32>) outs(%{{.*}}[n, oc_o, oh, ow, oc_i] init 0.0 : memref<1x2x4x4x16xf32>)
// CHECK:        loop.nest {{.*}} outs(%{{.*}}[i0, i1_o * 16 + i1_i, i2, i3] clip : memref<1x20x4x4xf32>)

// -----

// A halo: its border is filled with 0, the producer writes the interior, a padded window reads it all.
func.func @halo(%x: tensor<1x8x4xf32>, %w: tensor<8x8x3xf32>) -> tensor<1x8xf32> {
  %0 = graph.relayout %x : tensor<1x8x4xf32> -> tensor<1x8x4xf32, #graph.layout<block = [0, 8, 0], halo = [1, 2]>>
  %1 = graph.conv %0, %w strides = [1] pads = [1, 1] dilations = [1] groups = 1 : tensor<1x8x4xf32, #graph.layout<block = [0, 8, 0], halo = [1, 2]>>, tensor<8x8x3xf32> -> tensor<1x8x4xf32, #graph.layout<block = [0, 8, 0], halo = []>>
  %2 = graph.reduce_sum %1 axes = [2] : tensor<1x8x4xf32, #graph.layout<block = [0, 8, 0], halo = []>> -> tensor<1x8xf32>
  func.return %2 : tensor<1x8xf32>
}
// CHECK:      func.func @halo
// CHECK-NEXT:   %[[X:.*]] = loop.alloc : memref<1x1x7x8xf32>
// CHECK-NEXT:   loop.nest (i0 = 1, i1 = 1, i2 = 1, i3 = 8) outs(%[[X]][i0, i1, i2, i3] : memref<1x1x7x8xf32>)
// CHECK-NEXT:   ^bb0
// CHECK-NEXT:     arith.constant 0.0
// CHECK:        loop.nest (i0 = 1, i1 = 1, i2 = 2, i3 = 8) outs(%[[X]][i0, i1, i2 + 5, i3] : memref<1x1x7x8xf32>)
// CHECK:        loop.nest {{.*}} outs(%[[X]][i0, i1_o, i2 + 1, i1_i] : memref<1x1x7x8xf32>)
// CHECK:        loop.nest {{.*}} ins(%[[X]][n, ic_o, ow + kw, ic_i] : memref<1x1x7x8xf32>, %w

// -----

// Elsewhere than at 0 a padded read sees the interior alone; a maximum may take in zeros where no
// element is negative.
func.func @maximum_beside_a_halo(%x: tensor<1x8x4xf32>) -> (tensor<1x8x5xf32>, tensor<1x8x5xf32>) {
  %0 = graph.relayout %x : tensor<1x8x4xf32> -> tensor<1x8x4xf32, #graph.layout<block = [0, 8, 0], halo = [1, 1]>>
  %1 = graph.max_pool %0 window = [2] strides = [1] pads = [1, 1] dilations = [1] : tensor<1x8x4xf32, #graph.layout<block = [0, 8, 0], halo = [1, 1]>> -> tensor<1x8x5xf32>
  %2 = graph.relu %x : tensor<1x8x4xf32> -> tensor<1x8x4xf32, #graph.layout<block = [0, 8, 0], halo = [1, 1]>>
  %3 = graph.max_pool %2 window = [2] strides = [1] pads = [1, 1] dilations = [1] : tensor<1x8x4xf32, #graph.layout<block = [0, 8, 0], halo = [1, 1]>> -> tensor<1x8x5xf32>
  func.return %1, %3 : tensor<1x8x5xf32>, tensor<1x8x5xf32>
}
// CHECK:      func.func @maximum_beside_a_halo
// CHECK:        %[[V:.*]] = memref.subview %{{.*}}[0, 0, 1, 0] [1, 1, 4, 8] [1, 1, 1, 1] : memref<1x1x6x8xf32> to memref<1x1x4x8xf32, strided<[48, 48, 8, 1], offset: 8>>
// CHECK-NEXT:   loop.nest {{.*}} ins(%[[V]][n, c_o, ow + kw - 1, c_i] pad -inf : memref<1x1x4x8xf32, strided<[48, 48, 8, 1], offset: 8>>)
// CHECK:        loop.nest {{.*}} ins(%{{.*}}[n, c_o, ow + kw, c_i] : memref<1x1x6x8xf32>)

// -----

// A cumulative sum is a nest that scans, from -0, to which every number is added as it is.
func.func @cumsum(%x: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
  %0 = graph.cumsum %x axis = -2 : tensor<2x4x3xf32> -> tensor<2x4x3xf32>
  func.return %0 : tensor<2x4x3xf32>
}
// CHECK:      func.func @cumsum(%x: memref<2x4x3xf32>, %[[OUT:.*]]: memref<2x4x3xf32> {inarch.result}) {
// CHECK-NEXT:   loop.nest (i0 = 2, i2 = 3, k = 4 scan) ins(%x[i0, k, i2] : memref<2x4x3xf32>) outs(%[[OUT]][i0, k, i2] init -0.0 : memref<2x4x3xf32>) {
// CHECK-NEXT:   ^bb0(%[[X:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK-NEXT:     %[[S:.*]] = arith.addf %[[ACC]], %[[X]] : f32
// CHECK-NEXT:     loop.yield %[[S]] : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return

// -----

// Backwards and exclusive: the last element is 1, the others are one before what they read last.
func.func @cumprod(%x: tensor<2x4xi32>) -> tensor<2x4xi32> {
  %0 = graph.cumprod %x axis = 1 exclusive = true reverse = true : tensor<2x4xi32> -> tensor<2x4xi32>
  func.return %0 : tensor<2x4xi32>
}
// CHECK:      func.func @cumprod(%x: memref<2x4xi32>, %[[OUT:.*]]: memref<2x4xi32> {inarch.result}) {
// CHECK-NEXT:   loop.nest (i0 = 2) outs(%[[OUT]][i0, 3] init 1 : memref<2x4xi32>) {
// CHECK-NEXT:   ^bb0(%[[ACC:.*]]: i32):
// CHECK-NEXT:     loop.yield %[[ACC]] : i32
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.nest (i0 = 2, k = 3 scan) ins(%x[i0, -k + 3] : memref<2x4xi32>) outs(%[[OUT]][i0, -k + 2] init 1 : memref<2x4xi32>) {

// -----

// Of one element nothing is read; of none nothing is written.
func.func @exclusive_of_one_and_none(%x: tensor<1xf32>, %y: tensor<0xf32>) -> (tensor<1xf32>, tensor<0xf32>) {
  %0 = graph.cumsum %x axis = 0 exclusive = true : tensor<1xf32> -> tensor<1xf32>
  %1 = graph.cumsum %y axis = 0 exclusive = true : tensor<0xf32> -> tensor<0xf32>
  func.return %0, %1 : tensor<1xf32>, tensor<0xf32>
}
// CHECK-LABEL: @exclusive_of_one_and_none
// CHECK-NEXT:   loop.nest () outs(%{{.*}}[0] init 0.0 : memref<1xf32>) {
// CHECK:        loop.nest (k = 0 scan)
// CHECK:        loop.nest (k = 0 scan)
// CHECK-NOT:    loop.nest

// -----

// One nest with a value and a position; of unsigned elements by their order.
func.func @arg_reduce(%x: tensor<4x3x5xui8>, %y: tensor<6xf32>) -> (tensor<4x1x5xi64>, tensor<i64>) {
  %0 = graph.argmax %x axis = 1 keepdims = true : tensor<4x3x5xui8> -> tensor<4x1x5xi64>
  %1 = graph.argmin %y axis = -1 last = true : tensor<6xf32> -> tensor<i64>
  func.return %0, %1 : tensor<4x1x5xi64>, tensor<i64>
}
// CHECK-LABEL: func.func @arg_reduce
// CHECK-NEXT:   %[[V:.*]] = loop.alloc : memref<4x1x5xi8>
// CHECK-NEXT:   loop.nest (i0 = 4, i2 = 5, r1 = 3 reduction) ins(%x[i0, r1, i2] : memref<4x3x5xi8>) outs(%[[V]][i0, 0, i2] init 0 : memref<4x1x5xi8>, %out[i0, 0, i2] init 0 : memref<4x1x5xi64>) {
// CHECK:          %[[K:.*]] = loop.point r1 : index
// CHECK-NEXT:     %[[P:.*]] = arith.index_cast %[[K]] : index to i64
// CHECK-NEXT:     arith.cmpi ugt, %x{{.*}}, %value : i8
// CHECK-NEXT:     arith.cmpi eq
// CHECK-NEXT:     arith.cmpi slt, %[[P]], %position : i64
// CHECK:          loop.yield
// CHECK:        loop.nest (r0 = 6 reduction) ins(%y[r0] : memref<6xf32>) outs(%{{.*}}[] init inf : memref<f32>, %out_1[] init 0 : memref<i64>) {
// CHECK:          arith.cmpf olt
// CHECK:          arith.cmpi sgt

// -----

// A transposed convolution is a nest for each phase. Of a window of 3 and a stride of 2 the even outputs see
// taps 2 and 0, the odd ones tap 1. No zero is put between the elements of x.
func.func @phases(%x: tensor<1x2x4xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x9xf32> {
  %0 = graph.conv_transpose %x, %w strides = [2] pads = [0, 0] output_padding = [0] dilations = [1] groups = 1 : tensor<1x2x4xf32>, tensor<2x3x3xf32> -> tensor<1x3x9xf32>
  func.return %0 : tensor<1x3x9xf32>
}
// CHECK-LABEL: @phases
// CHECK-NEXT:   loop.nest (n = 1, oc = 3, ow = 5, ic = 2 reduction, kw = 2 reduction) ins(%x[n, ic, ow + kw - 1] pad 0.0 : memref<1x2x4xf32>, %w[ic, oc, -kw * 2 + 2] : memref<2x3x3xf32>) outs(%{{.*}}[n, oc, ow * 2] init 0.0 : memref<1x3x9xf32>) {
// CHECK:        loop.nest (n = 1, oc = 3, ow = 4, ic = 2 reduction, kw = 1 reduction) ins(%x[n, ic, ow + kw] : memref<1x2x4xf32>, %w[ic, oc, -kw * 2 + 1] : memref<2x3x3xf32>) outs(%{{.*}}[n, oc, ow * 2 + 1] init 0.0 : memref<1x3x9xf32>) {
// CHECK-NOT:    loop.nest

// -----

// A phase that no tap meets is the bias. With a dilation of 3, the two taps are an element apart and in two phases.
func.func @phases_of_few_taps(%x: tensor<1x2x4xf32>, %w: tensor<2x3x2xf32>, %b: tensor<3xf32>) -> tensor<1x3x17xf32> {
  %0 = graph.conv_transpose %x, %w bias %b strides = [4] pads = [0, 0] output_padding = [1] dilations = [3] groups = 1 : tensor<1x2x4xf32>, tensor<2x3x2xf32>, tensor<3xf32> -> tensor<1x3x17xf32>
  func.return %0 : tensor<1x3x17xf32>
}
// CHECK-LABEL: @phases_of_few_taps
// CHECK-NEXT:   loop.nest (n = 1, oc = 3, ow = 5, ic = 2 reduction, kw = 1 reduction) ins(%x[n, ic, ow + kw * 3] pad 0.0 : memref<1x2x4xf32>, %w[ic, oc, -kw * 4] : memref<2x3x2xf32>, %b[oc] : memref<3xf32>) outs(%{{.*}}[n, oc, ow * 4] init 0.0
// CHECK:        loop.nest (n = 1, oc = 3, ow = 4) ins(%b[oc] : memref<3xf32>) outs(%{{.*}}[n, oc, ow * 4 + 1] init 0.0
// CHECK:        loop.nest (n = 1, oc = 3, ow = 4) ins(%b[oc] : memref<3xf32>) outs(%{{.*}}[n, oc, ow * 4 + 2] init 0.0
// CHECK:        loop.nest (n = 1, oc = 3, ow = 4, ic = 2 reduction, kw = 1 reduction) ins(%x[n, ic, ow + kw * 3] : memref<1x2x4xf32>, %w[ic, oc, -kw * 4 + 1] : memref<2x3x2xf32>, %b[oc] : memref<3xf32>) outs(%{{.*}}[n, oc, ow * 4 + 3] init 0.0

// -----

// Winograd's tiles in two blocks: the scratch memory of one is as large as a core's part of the caches.
builtin.module attributes {inarch.target = "x86-64-v3", inarch.machine = "zen4"} {
  // CHECK-LABEL: @winograd_in_blocks
  // CHECK-COUNT-2: loop.alloc : memref<16x8x392x8xf32>
  // CHECK-NOT: memref<16x8x784x8xf32>
  func.func @winograd_in_blocks(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
    %c = graph.constant dense<0.5> : tensor<64x64x3x3xf32>
    %b = graph.relayout %x : tensor<1x64x56x56xf32> -> tensor<1x64x56x56xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    %0 = graph.conv %b, %c strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 {inarch.algorithm = "winograd-2x2"} : tensor<1x64x56x56xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>>
    %1 = graph.relayout %0 : tensor<1x64x56x56xf32, #graph.layout<block = [0, 8, 0, 0], halo = []>> -> tensor<1x64x56x56xf32>
    func.return %1 : tensor<1x64x56x56xf32>
  }
}
