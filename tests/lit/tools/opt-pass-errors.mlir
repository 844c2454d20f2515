// RUN: not inarch-opt %s --load %S/Inputs/refuse_demo.py -p refuse-demo 2>&1 | filecheck %s --check-prefix=OURS
// RUN: not inarch-opt %s --load %S/Inputs/refuse_demo.py -p 'refuse-demo{xdsl=true}' 2>&1 | filecheck %s --check-prefix=XDSL
// RUN: inarch-opt %s --load %S/Inputs/refuse_demo.py -p refuse-demo --verify-diagnostics
// RUN: not inarch-opt %s --load %S/Inputs/spoil_demo.py -p spoil-demo 2>&1 | filecheck %s --check-prefix=SPOIL
// RUN: not inarch-opt %s --load %S/Inputs/spoil_demo.py -p spoil-demo --verify-each=end 2>&1 | filecheck %s --check-prefix=END
// RUN: inarch-opt %s --load %S/Inputs/spoil_demo.py -p spoil-demo --verify-each=none | filecheck %s --check-prefix=NONE

// OURS: opt-pass-errors.mlir:19:3: error: expected no add
// XDSL: opt-pass-errors.mlir: error: pass 'refuse-demo': no adds, please
// SPOIL: opt-pass-errors.mlir:17:1: error: 'func.func' expected a region that ends in a terminator, found 'graph.add' (after pass 'spoil-demo')
// END: opt-pass-errors.mlir:17:1: error: 'func.func' expected a region that ends in a terminator, found 'graph.add'
// NONE: graph.add
// NONE-NOT: func.return



func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{expected no add}}
  %b = graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}
