// RUN: inarch-opt %s --load %S/Inputs/toy.py --load %S/Inputs/passing.py --split-input-file -p partition | filecheck %s
// RUN: inarch-opt %s --load %S/Inputs/toy.py --load %S/Inputs/passing.py --split-input-file -p 'partition{symbol-prefix=gcc}' | filecheck %s --check-prefix=PREFIX
// RUN: not inarch-opt %s --load %S/Inputs/toy.py --load %S/Inputs/passing.py --split-input-file -p 'partition{symbol-prefix=1a}' 2>&1 | filecheck %s --check-prefix=BAD

// BAD: error: expected a symbol prefix that is a C identifier, found '1a'

// Several results; ops move so that the call has what it needs, and comes before its users.
// CHECK-LABEL: @several
// CHECK-SAME: (%x: tensor<4xf32>, %y: tensor<4xf32>)
// CHECK-NEXT:   %b = graph.tanh %y
// CHECK-NEXT:   %a, %d = graph.call @toy_0(%x, %b) : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:   %c = graph.tanh %a
// CHECK-NEXT:   func.return %c, %d
// CHECK:      func.func private @toy_0(%x: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {compiler = "toy"} {
// CHECK-NEXT:   %a = graph.mul %x, %x : tensor
// CHECK-NEXT:   %d = graph.mul %a, %b : tensor
// CHECK-NEXT:   func.return %a, %d
// PREFIX-LABEL: @several
// PREFIX:      graph.call @gcc_0(
// PREFIX:      func.func private @gcc_0({{.*}}) -> ({{.*}}) attributes {compiler = "toy"} {
func.func @several(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = graph.mul %x, %x {partition.backend = "toy", partition.region = 0 : i64} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %c = graph.tanh %a : tensor<4xf32> -> tensor<4xf32>
  %b = graph.tanh %y : tensor<4xf32> -> tensor<4xf32>
  %d = graph.mul %a, %b {partition.backend = "toy", partition.region = 0 : i64} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %c, %d : tensor<4xf32>, tensor<4xf32>
}

// -----

// Two backends; one has constants copied in, the other passed. A symbol that is taken is passed over.
// CHECK-LABEL: @constants
// CHECK-NEXT:   %k = graph.constant
// CHECK-NEXT:   %a = graph.call @toy_1(%x)
// CHECK-NEXT:   %b = graph.call @passing_0(%a, %k)
// CHECK-NEXT:   func.return %b
// CHECK:      func.func private @toy_1(%x: tensor<4xf32>) -> tensor<4xf32> attributes {compiler = "toy"} {
// CHECK-NEXT:   %k = graph.constant
// CHECK-NEXT:   graph.mul %x, %k
// CHECK:      func.func private @passing_0(%a: tensor<4xf32>, %k: tensor<4xf32>) -> tensor<4xf32> attributes {compiler = "passing"} {
// CHECK-NEXT:   graph.add %a, %k
// CHECK:      func.func private @toy_0(
// PREFIX-LABEL: @constants
// PREFIX:      func.func private @gcc_0(
// PREFIX:      func.func private @gcc_1(
func.func @constants(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k = graph.constant dense<2.0> : tensor<4xf32>
  %a = graph.mul %x, %k {partition.backend = "toy", partition.region = 0 : i64} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %b = graph.add %a, %k {partition.backend = "passing", partition.region = 1 : i64} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}
func.func private @toy_0(tensor<4xf32>) -> tensor<4xf32>
