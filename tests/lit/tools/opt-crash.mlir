// RUN: not inarch-opt %s --load %S/Inputs/crash_demo.py -p 'cse,crash-demo,dce' --reproducer %t.mlir 2>&1 | filecheck %s --check-prefix=ERROR
// RUN: filecheck %s --input-file %t.mlir --check-prefix=KEPT
// RUN: not inarch-opt %t.mlir --load %S/Inputs/crash_demo.py -p 'crash-demo' --reproducer %t.again.mlir 2>&1 | filecheck %s --check-prefix=ERROR
// RUN: not inarch-opt %s --load %S/Inputs/crash_demo.py -p 'crash-demo' --reproducer %t.mlir --debug 2>&1 | filecheck %s --check-prefix=DEBUG

// ERROR: {{^}}error: pass 'crash-demo' [{{.*}}crash_demo.py] raises TypeError: unsupported operand (crash_demo.py:18); the input is in {{.*}}.mlir, run: inarch-opt {{.*}}.mlir -p 'crash-demo
// ERROR-NOT: Traceback

// The input of the pass that crashed, after cse; the command runs what is left.
// KEPT: // RUN-able: inarch-opt {{.*}}.mlir -p 'crash-demo,dce' --load={{.*}}crash_demo.py
// KEPT-NEXT: builtin.module {
// KEPT-NEXT:   func.func @f
// KEPT-NEXT:     %b = graph.add
// KEPT-NEXT:     func.return %b, %b

// DEBUG: Traceback
// DEBUG: TypeError: unsupported operand
// DEBUG: {{^}}error: pass 'crash-demo' [
func.func @f(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %b = graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %c = graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %b, %c : tensor<2xf32>, tensor<2xf32>
}
