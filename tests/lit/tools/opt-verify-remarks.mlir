// RUN: inarch-opt %s --split-input-file --verify-diagnostics -p 'annotate{backends=ccompiler},partition,decompose-composites,graph-to-loop,fuse-nests' -o %t
// RUN: inarch-opt %s --split-input-file --verify-diagnostics --remarks=fuse-nests -p 'annotate{backends=ccompiler},partition,decompose-composites,graph-to-loop,fuse-nests' -o %t
// RUN: not inarch-opt %s --split-input-file --verify-diagnostics --remarks -p 'annotate{backends=ccompiler},partition,decompose-composites,graph-to-loop,fuse-nests' 2>&1 | filecheck %s

// A remark that nothing expects is an error where --remarks asks for it.
// CHECK: error: unexpected remark: [partition] missed: graph.matmul is not for ccompiler: no pattern or op list has graph.matmul
func.func @a_remark_and_a_warning(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // expected-warning @unknown {{backend 'ccompiler' was asked for and got nothing: matmul: no pattern}}
  %c = graph.matmul %a, %b : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  // expected-remark-re @below {{[fuse-nests] computed at the end of {{.*}}.mlir:{{[0-9]+}}:3}}
  %d = graph.relu %c : tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %d : tensor<4x4xf32>
}

// -----

func.func @several_of_one_program(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{C2: shapes (2,) and (3,) do not broadcast}}
  %c = graph.add %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  // expected-error @below {{C2: shapes (3,) and (2,) do not broadcast}}
  %d = graph.sub %b, %a : tensor<3xf32>, tensor<2xf32> -> tensor<3xf32>
  func.return
}
