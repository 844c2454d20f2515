// RUN: inarch-opt %s --load %S/Inputs/toy.py --load %S/Inputs/passing.py --split-input-file -p merge-regions | filecheck %s

// A diamond with a foreign side: the region must not be left and entered again.
// CHECK-LABEL: @diamond
// CHECK-NEXT: graph.mul %x, %x {partition.backend = "toy", partition.region = 0 : i64}
// CHECK-NEXT: graph.tanh %a : tensor
// CHECK-NEXT: graph.mul %a, %a {partition.backend = "toy", partition.region = 0 : i64}
// CHECK-NEXT: graph.mul %b, %c {partition.backend = "toy", partition.region = 1 : i64}
func.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.mul %x, %x {partition.backend = "toy"} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %b = graph.tanh %a : tensor<4xf32> -> tensor<4xf32>
  %c = graph.mul %a, %a {partition.backend = "toy"} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %d = graph.mul %b, %c {partition.backend = "toy"} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %d : tensor<4xf32>
}

// -----

// Each region alone would be convex, but as single calls they would wait for each other.
// CHECK-LABEL: @crossing
// CHECK-NEXT: graph.mul %x, %x {partition.backend = "toy", partition.region = 1 : i64}
// CHECK-NEXT: graph.neg %y {partition.backend = "passing", partition.region = 0 : i64}
// CHECK-NEXT: graph.add %y2, %y2 {partition.backend = "passing", partition.region = 0 : i64}
// CHECK-NEXT: graph.neg %a {partition.backend = "passing", partition.region = 2 : i64}
// CHECK-NEXT: graph.mul %b, %a {partition.backend = "toy", partition.region = 1 : i64}
// CHECK-NEXT: graph.add %b, %c {partition.backend = "passing", partition.region = 2 : i64}
func.func @crossing(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = graph.mul %x, %x {partition.backend = "toy"} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %y2 = graph.neg %y {partition.backend = "passing"} : tensor<4xf32> -> tensor<4xf32>
  %b = graph.add %y2, %y2 {partition.backend = "passing"} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %c = graph.neg %a {partition.backend = "passing"} : tensor<4xf32> -> tensor<4xf32>
  %d = graph.mul %b, %a {partition.backend = "toy"} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %e = graph.add %b, %c {partition.backend = "passing"} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %d, %e : tensor<4xf32>, tensor<4xf32>
}

// -----

// Too small for `min_ops`: back to the host, a composite in its ops; unless it was given by hand.
// CHECK-LABEL: @small
// CHECK-NEXT: graph.neg %x : tensor
// CHECK-NEXT: graph.tanh
// CHECK-NEXT: graph.mul %b, %b : tensor
// CHECK-NEXT: graph.tanh
// CHECK-NEXT: graph.neg %d {partition.backend = "passing", partition.give = "passing", partition.region = 0 : i64}
func.func @small(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.neg %x {partition.backend = "passing"} : tensor<4xf32> -> tensor<4xf32>
  %b = graph.tanh %a : tensor<4xf32> -> tensor<4xf32>
  %c = graph.composite "passing.scale"(%b) attributes {partition.backend = "passing"} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%y: tensor<4xf32>):
    %0 = graph.mul %y, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  %d = graph.tanh %c : tensor<4xf32> -> tensor<4xf32>
  %e = graph.neg %d {partition.backend = "passing", partition.give = "passing"} : tensor<4xf32> -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}
