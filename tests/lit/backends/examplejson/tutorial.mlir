// T9: the graph of TVM's tutorial, byte for byte, from the program that it stands for.
// RUN: inarch-opt %s -p "annotate{backends=examplejson},merge-composites,merge-regions,partition" -t examplejson | filecheck %s --strict-whitespace --match-full-lines

//      CHECK:subgraph_0
// CHECK-NEXT:  input 0 10 10
// CHECK-NEXT:  input 1 10 10
// CHECK-NEXT:  input 2 10 10
// CHECK-NEXT:  input 3 10 10
// CHECK-NEXT:  add 4 inputs: 0 1 shape: 10 10
// CHECK-NEXT:  sub 5 inputs: 4 2 shape: 10 10
// CHECK-NEXT:  mul 6 inputs: 5 3 shape: 10 10
//  CHECK-NOT:{{.}}

func.func @main(%in0: tensor<10x10xf32>, %in1: tensor<10x10xf32>, %in2: tensor<10x10xf32>, %in3: tensor<10x10xf32>) -> tensor<10x10xf32> {
  %0 = graph.add %in0, %in1 : tensor<10x10xf32>, tensor<10x10xf32> -> tensor<10x10xf32>
  %1 = graph.sub %0, %in2 : tensor<10x10xf32>, tensor<10x10xf32> -> tensor<10x10xf32>
  %2 = graph.mul %1, %in3 : tensor<10x10xf32>, tensor<10x10xf32> -> tensor<10x10xf32>
  func.return %2 : tensor<10x10xf32>
}
