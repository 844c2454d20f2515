// RUN: inarch list | filecheck %s
// RUN: inarch list passes | filecheck %s --check-prefix=PASSES
// RUN: inarch list passes --json | filecheck %s --check-prefix=JSON
// RUN: inarch --version | filecheck %s --check-prefix=VERSION
// RUN: inarch --help | filecheck %s --check-prefix=HELP
// RUN: inarch compile --help | filecheck %s --check-prefix=EXAMPLE
// RUN: inarch run --help | filecheck %s --check-prefix=EXAMPLE
// RUN: inarch inspect --help | filecheck %s --check-prefix=EXAMPLE
// RUN: inarch list --help | filecheck %s --check-prefix=EXAMPLE

// CHECK: backends:
// CHECK: commands:
// CHECK: definitions:
// CHECK: dialects:
// CHECK: graph
// CHECK: frontends:
// CHECK-NEXT: mlir
// CHECK-NEXT: onnx
// CHECK: layer-sets:
// CHECK: loaders:
// CHECK: shared-library
// CHECK: lowerings:
// CHECK: gather {{.*}} [inarch.passes.lower.rules.gather]
// CHECK-NEXT: of: graph.gather
// CHECK: microkernels:
// CHECK: onnx-operators:
// CHECK: passes:
// CHECK: steps:
// CHECK: split  {{ *}}split ITERATOR FACTOR [-> OUTER INNER]  [inarch.passes.schedule.split]
// CHECK-NOT: BROKEN
// PASSES-NOT: frontends:
// PASSES: fold-constants {{.*}} [inarch.passes.graph.fold_constants]
// JSON: "name": "fold-constants"
// VERSION: inarch {{[0-9]+\.[0-9]+\.[0-9]+}}
// HELP: examples:
// HELP-NEXT: inarch compile model.onnx -o model.inarch
// EXAMPLE: example{{s?}}:
// EXAMPLE-NEXT: inarch
