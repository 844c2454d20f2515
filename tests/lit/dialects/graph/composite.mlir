// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @one
// CHECK-NEXT: %0 = graph.composite "toy.scale"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: ^bb0(%y: tensor<4xf32>):
// CHECK-NEXT:   %k = graph.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-NEXT:   %m = graph.mul %y, %k : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT:   graph.yield %m : tensor<4xf32>
// CHECK-NEXT: }
func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.composite "toy.scale"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%y: tensor<4xf32>):
    %k = graph.constant dense<2.0> : tensor<4xf32>
    %m = graph.mul %y, %k : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    graph.yield %m : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @several
// CHECK-NEXT: %0, %1 = graph.composite "toy.two"(%x, %x) attributes {partition.backend = "toy"} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
func.func @several(%x: tensor<4xf32>) {
  %0, %1 = graph.composite "toy.two"(%x, %x) attributes {partition.backend = "toy"} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%y: tensor<4xf32>, %z: tensor<4xf32>):
    %n = graph.neg %y : tensor<4xf32> -> tensor<4xf32>
    graph.yield %n, %z : tensor<4xf32>, tensor<4xf32>
  }
  func.return
}
