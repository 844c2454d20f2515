// RUN: not inarch-opt %s --verify-diagnostics -p annotate{backends=ccompiler},partition 2>&1 | filecheck %s

// A warning that nothing expects is an error.
// CHECK: opt-verify-warnings-fail.mlir (no line: @unknown): error: unexpected warning: backend 'ccompiler' was asked for and got nothing: relu: no pattern or op list has graph.relu
func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %d = graph.relu %a : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %d : tensor<4x4xf32>
}
