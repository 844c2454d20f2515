// RUN: inarch-opt %s -p 'graph-to-loop,outline-nests,plan-memory' -t c | filecheck %s
// RUN: not inarch-opt %s -t c 2>&1 | filecheck %s --check-prefix=TOO-HIGH

// CHECK: int32_t {{.*}}_abi_version(void)
// TOO-HIGH: opt-target.mlir:{{[0-9]+:[0-9]+}}: error: @main: expected memref arguments{{.*}}run graph-to-loop first
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = graph.add %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}
