// RUN: inarch-opt %s -p annotate{backends=examplejson},merge-composites,merge-regions,partition,emit-offloaded | filecheck %s

// What a backend has emitted is declared: the host's library gets a slot for it.

// CHECK:      func.func @main
// CHECK-NEXT:   graph.call @examplejson_0
// CHECK:      func.func private @examplejson_0(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {compiler = "examplejson", inarch.owner = "backend 'examplejson', from 'emit-offloaded.mlir:10:3'"}
// CHECK-NOT:  graph.add
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.add %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
