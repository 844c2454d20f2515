// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s -p 'canonicalize,dce' | filecheck %s --check-prefix=DCE
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @adds
// CHECK-NEXT: graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
// DCE-LABEL: func.func @adds
// DCE-NEXT: func.return
func.func @adds(%a: tensor<2xf32>) -> tensor<2xf32> {
  %unused = graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %a : tensor<2xf32>
}
