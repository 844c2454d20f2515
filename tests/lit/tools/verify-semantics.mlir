// A pass that changes what the program means is found by running it, with the op and the element.
// RUN: not inarch-opt %s --load %S/Inputs/sub_for_add.py -p 'simplify-graph,sub-for-add,graph-to-loop' --verify-semantics 2>&1 | filecheck %s --check-prefix=WRONG
// RUN: inarch-opt %s --load %S/Inputs/sub_for_add.py -p 'simplify-graph,graph-to-loop' --verify-semantics=3 | filecheck %s --check-prefix=RIGHT
// RUN: not inarch-opt %s --verify-semantics=x 2>&1 | filecheck %s --check-prefix=SEED
// RUN: inarch compile %s -o %t.inarch --verify-semantics=3 --target generic | filecheck %s --check-prefix=COMPILED
// RUN: not inarch compile %s --verify-semantics --emit=loop 2>&1 | filecheck %s --check-prefix=EMIT

// WRONG: verify-semantics.mlir:{{[0-9]+}}:3: error: pass 'sub-for-add' ({{.*}}sub_for_add.py) changes what the program means: function @main, output 0, index (0, 0): expected 1.46795{{[0-9]*}}, found 0.0, allowed 1.75e-07 (6 of 6 elements differ); the first value that differs is that of 'graph.sub'; inputs of seed 0
// RIGHT: loop.nest
// SEED: error: argument --verify-semantics: expected a seed, a number such as 7, found 'x'; see inarch-opt --help
// COMPILED: verify_semantics for generic
// EMIT: error: --verify-semantics runs what is compiled; it does not go with --emit (inarch-opt has it, too)

func.func @main(%a: tensor<2x3xf32> {inarch.name = "a"}, %b: tensor<2x3xf32> {inarch.name = "b"}) -> (tensor<2x3xf32> {inarch.name = "y"}) {
  %m = graph.mul %a, %b : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %s = graph.add %m, %b : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %r = graph.relu %s : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}
