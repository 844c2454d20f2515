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

// A gather depends on data: explicit loops, an index wrapped and clamped.
func.func @gather_is_a_loop(%a: tensor<5x3xf32>, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  %0 = graph.gather %a, %i axis = 0 : tensor<5x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK: func.func @gather_is_a_loop
// CHECK:   loop.for %[[I:.*]] = 0 to 2 {
// CHECK:     loop.for %[[J:.*]] = 0 to 3 {
// CHECK:       %[[ROW:.*]] = memref.load %i[%[[I]]] : memref<2xi64>
// CHECK:       arith.minsi
// CHECK:       memref.load %a[%{{.*}}, %[[J]]] : memref<5x3xf32>
// CHECK:       memref.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : memref<2x3xf32>
