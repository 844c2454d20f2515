// RUN: inarch-opt %s -p fold-batch-norm,graph-to-loop,fuse-nests --remarks -o %t 2>&1 | filecheck %s --check-prefix ALL
// RUN: inarch-opt %s -p fold-batch-norm,graph-to-loop,fuse-nests --remarks=^fuse -o %t 2>&1 | filecheck %s --check-prefix ONE
// RUN: inarch-opt %s -p graph-to-loop,fuse-nests -o %t 2>&1 | filecheck %s --check-prefix NONE --allow-empty
// RUN: not inarch-opt %s -p graph-to-loop --remarks=fuse 2>&1 | filecheck %s --check-prefix WHICH
// RUN: inarch-opt --help | filecheck %s --check-prefix HELP
// RUN: not inarch-opt %s -p graph-to-loop --remarks='(' 2>&1 | filecheck %s --check-prefix REGEX

// ALL:      opt-remarks.mlir:[[LINE:[0-9]+]]:3: remark: [fuse-nests] computed at the end of {{.*}}opt-remarks.mlir:{{[0-9]+}}:3
// ALL-NOT:  remark
// ONE:      remark: [fuse-nests] computed
// NONE-NOT: remark
// HELP:     [--remarks [=REGEX]]
// WHICH:    error: --remarks: expected a pass that 'fuse' is found in, found graph-to-loop
// REGEX:    error: argument --remarks: expected a regular expression, found '(': missing ), unterminated subpattern at position 0; see inarch-opt --help
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %c = graph.matmul %a, %b : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %d = graph.relu %c : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %d : tensor<4x4xf32>
}
