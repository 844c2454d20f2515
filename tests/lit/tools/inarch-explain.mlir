// Who owns what, as a table and as JSON, and what a wrong command line is told (N7).
// RUN: inarch explain %s --backend examplejson | filecheck %s --check-prefix=TABLE
// RUN: inarch explain %s --backend examplejson,ccompiler --all | filecheck %s --check-prefix=ALL
// RUN: inarch explain %s --backend examplejson --keep mul=examplejson --json | filecheck %s --check-prefix=JSON
// RUN: inarch explain %s --target generic | filecheck %s --check-prefix=KERNELS
// RUN: inarch explain %s --target generic --backend examplejson --kernels | filecheck %s --check-prefix=BOTH
// RUN: not inarch explain %s --keep mul=examplejson 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not inarch explain %s --backend exampeljson 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not inarch explain %s --backend c 2>&1 | filecheck %s --check-prefix=HOST
// RUN: not inarch explain %s --backend examplejson --html %s 2>&1 | filecheck %s --check-prefix=SAME

// TABLE:      op {{ *}}location {{ *}}owner {{ *}}why not the others
// TABLE-NEXT: mul {{ *}}{{.*}}inarch-explain.mlir:{{[0-9]+}}:3 {{ *}}examplejson{{$}}
// TABLE-NEXT: gelu {{.*}} host {{ *}}examplejson: no pattern or op list has graph.gelu
// TABLE-EMPTY:
// TABLE:      examplejson: 1 of 2 ops, 1 region
// TABLE-NEXT: host: 1 of 2 ops

// ALL: gelu {{.*}} host {{ *}}examplejson: no pattern or op list has graph.gelu
// ALL-NEXT: {{^ +}}ccompiler: no pattern or op list has graph.gelu

// JSON: "schema": 1
// JSON: "model": "inarch-explain.mlir"
// JSON: "owner": "host"
// JSON: "examplejson": "kept from backend examplejson by hand

// KERNELS:      location {{ *}}kernel {{ *}}parameters {{ *}}copies {{ *}}cycles {{ *}}share {{ *}}why
// KERNELS-EMPTY:
// KERNELS:      gemm-f32: 0 of 1 nests; {{.*}}: of the nest (i0*i1 = 6): the body is
// KERNELS:      no kernel: 1 of 1 nests, 100.0 % of the cycles, 1 of them not shown (--all)

// BOTH:      host: 1 of 2 ops
// BOTH-EMPTY:
// BOTH-NEXT: location {{ *}}kernel
// BOTH:      no kernel: 1 of 1 nests

// NONE: error: --give, --keep: expected a backend to choose for, such as --backend examplejson
// UNKNOWN: error: no backend 'exampeljson'; did you mean 'examplejson'?
// HOST: error: 'c' is a host, not a backend
// SAME: error: --html: expected another file than the model
func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}) -> (tensor<2x3xf32> {inarch.name = "y"}) {
  %0 = graph.mul %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.gelu %0 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
