// RUN: inarch-opt %s --split-input-file | inarch-opt --split-input-file | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %y = graph.if %c(%x) attributes {note} : (tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
// CHECK-NEXT:    ^bb0(%a: tensor<3xf32>):
// CHECK-NEXT:      graph.yield %a : tensor<3xf32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:    ^bb0(%b: tensor<3xf32>):
// CHECK-NEXT:      %n = graph.neg %b : tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:      graph.yield %n : tensor<3xf32>
// CHECK-NEXT:    }
func.func @main(%c: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %y = graph.if %c(%x) attributes {note} : (tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>) {
  ^bb0(%a: tensor<3xf32>):
    graph.yield %a : tensor<3xf32>
  } else {
  ^bb1(%b: tensor<3xf32>):
    %n = graph.neg %b : tensor<3xf32> -> tensor<3xf32>
    graph.yield %n : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}
