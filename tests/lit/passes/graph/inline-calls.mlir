// RUN: inarch-opt %s --split-input-file -p inline-calls | filecheck %s

// A callee of a callee too; each call has ops of its own, and the functions go.
// CHECK-NOT:     private
// CHECK-LABEL: func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
// CHECK-NEXT:    %e = graph.exp %y : tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    %s = graph.add %x, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    %e_1 = graph.exp %s : tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    func.return %e, %e_1 : tensor<2xf32>, tensor<2xf32>
func.func private @twice(%a: tensor<2xf32>) -> tensor<2xf32> {
  %s = graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %e, %t = graph.call @both(%s, %a) : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>, tensor<2xf32>
  func.return %e : tensor<2xf32>
}
func.func private @both(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %e = graph.exp %a : tensor<2xf32> -> tensor<2xf32>
  func.return %e, %b : tensor<2xf32>, tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %e, %z = graph.call @both(%y, %x) : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>, tensor<2xf32>
  %t = graph.call @twice(%z) : tensor<2xf32> -> tensor<2xf32>
  func.return %e, %t : tensor<2xf32>, tensor<2xf32>
}

// -----

// Imports and functions of a backend are called; a public function stays, for others.
// CHECK:       func.func @public
// CHECK-LABEL: func.func @keeps
// CHECK-NEXT:    %i = graph.call @import(%x) : tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:    %o = graph.call @offloaded(%i) : tensor<2xf32> -> tensor<2xf32>
func.func private @import(tensor<2xf32>) -> tensor<2xf32>
func.func @public(%a: tensor<2xf32>) -> tensor<2xf32> {
  func.return %a : tensor<2xf32>
}
func.func private @offloaded(%a: tensor<2xf32>) -> tensor<2xf32> attributes {compiler = "ccompiler"} {
  func.return %a : tensor<2xf32>
}
func.func @keeps(%x: tensor<2xf32>) -> tensor<2xf32> {
  %i = graph.call @import(%x) : tensor<2xf32> -> tensor<2xf32>
  %p = graph.call @public(%i) : tensor<2xf32> -> tensor<2xf32>
  %o = graph.call @offloaded(%p) : tensor<2xf32> -> tensor<2xf32>
  func.return %o : tensor<2xf32>
}
