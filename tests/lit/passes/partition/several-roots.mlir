// RUN: inarch-opt %s --load %S/Inputs/toy.py -p merge-composites | filecheck %s

// A match of two roots is one op with two results, before what uses the earlier one.

// CHECK-LABEL: func.func @used_between
// CHECK-NEXT: %[[A:.*]], %[[B:.*]] = graph.composite "toy.p"(%x)
// CHECK: graph.yield
// CHECK: %[[E:.*]] = graph.exp %[[A]]
// CHECK-NEXT: return %[[E]], %[[B]]
func.func @used_between(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = graph.neg %x {partition.backend = "toy", partition.pattern = "p", partition.match = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  %e = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
  %b = graph.abs %x {partition.backend = "toy", partition.pattern = "p", partition.match = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  func.return %e, %b : tensor<4xf32>, tensor<4xf32>
}
