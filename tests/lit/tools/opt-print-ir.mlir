// RUN: inarch-opt %s -p 'cse,dce' --print-ir-before=dce --print-ir-after=cse 2>&1 | filecheck %s --check-prefix=SOME
// RUN: inarch-opt %s -p 'cse,dce' --print-ir-before-all --print-ir-after-all 2>&1 | filecheck %s --check-prefix=ALL
// RUN: inarch-opt %s -p 'cse,dce' --print-ir-after-all | filecheck %s --check-prefix=STDOUT
// RUN: inarch-opt %s -p 'cse,dce' --timing 2>&1 | filecheck %s --check-prefix=TIMING

// SOME: // -----// IR Dump After cse //----- //
// SOME-NEXT: builtin.module {
// SOME: // -----// IR Dump Before dce //----- //
// SOME-NEXT: builtin.module {
// SOME-NOT: IR Dump
// ALL: IR Dump Before cse //
// ALL: IR Dump After cse //
// ALL: IR Dump Before dce //
// ALL: IR Dump After dce //
// ALL: builtin.module
// STDOUT-NOT: IR Dump
// STDOUT: builtin.module
// TIMING: seconds share CPU step
// TIMING-NEXT: {{ +[0-9]+\.[0-9]{4} +[0-9.]+% +[0-9]+\.[0-9]{4} +import}}
// TIMING-NEXT: parse
// TIMING: verify
// TIMING: pass cse
// TIMING: pass dce
// TIMING: print
// TIMING: {{100.0% +[0-9.]+ +total}}
func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}
