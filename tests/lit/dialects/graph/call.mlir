// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK: func.func private @one(tensor<2x3xf32>) -> tensor<2xf32>
func.func private @one(tensor<2x3xf32>) -> tensor<2xf32>
// CHECK: func.func private @two(tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<i64>)
func.func private @two(tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<i64>)
// CHECK: func.func private @none(tensor<2x3xf32>) -> ()
func.func private @none(tensor<2x3xf32>) -> ()
// CHECK-LABEL: func.func @call(
// CHECK-NEXT: %0 = graph.call @one(%x) : tensor<2x3xf32> -> tensor<2xf32>
// CHECK-NEXT: %1, %2 = graph.call @two(%x, %0) : tensor<2x3xf32>, tensor<2xf32> -> tensor<2xf32>, tensor<i64>
// CHECK-NEXT: graph.call @none(%x) : tensor<2x3xf32> ->
func.func @call(%x: tensor<2x3xf32>) {
  %0 = graph.call @one(%x) : tensor<2x3xf32> -> tensor<2xf32>
  %1, %2 = graph.call @two(%x, %0) : tensor<2x3xf32>, tensor<2xf32> -> tensor<2xf32>, tensor<i64>
  graph.call @none(%x) : tensor<2x3xf32> ->
  func.return
}
