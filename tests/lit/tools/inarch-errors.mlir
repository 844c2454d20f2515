// One line each, and the exit code of a failure.

// RUN: not inarch 2>&1 | filecheck %s --check-prefix=NOTHING
// RUN: not inarch compile %s --emit=asm 2>&1 | filecheck %s --check-prefix=EMIT
// RUN: not inarch compile %s --target=x86-64-v9 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not inarch compile %s --dim n=2 2>&1 | filecheck %s --check-prefix=DIM
// RUN: not inarch compile %s 2>&1 | filecheck %s
// RUN: not inarch run %s --check=onnxruntime 2>&1 | filecheck %s
// RUN: not inarch inspect %s 2>&1 | filecheck %s --check-prefix=INSPECT
// RUN: not inarch list pases 2>&1 | filecheck %s --check-prefix=LIST

// NOTHING: {{^}}error: the following arguments are required: COMMAND; see 'inarch --help'
// EMIT: {{^}}error: no level, host or backend 'asm' in --emit. Known: c,{{.*}} graph, kernel, loop
// TARGET: {{^}}error: no target 'x86-64-v9'; did you mean 'x86-64-v4'? Known: aarch64, generic, native, x86-64,
// DIM: {{^}}error: {{.*}}inarch-errors.mlir has static shapes: there is no 'n' to bind
// CHECK: inarch-errors.mlir:[[# @LINE + 4]]:{{[0-9]+}}: error: {{.*}}'graph.add'
// INSPECT: inarch-errors.mlir: error: expected an Inarch artifact, found a file that starts with b'// O'
// LIST: {{^}}error: no kind 'pases'; did you mean 'passes'? Known: algorithms, backends, commands, definitions, dialects, dtypes, executors, frontends, functions, hosts, layer-sets, loaders, lowerings, machines, microkernels, onnx-operators, passes
func.func @main(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %c = graph.add %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %c : tensor<3xf32>
}
