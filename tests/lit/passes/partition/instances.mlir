// Two instances of one backend: the program says their options, each pass alone reads them, symbols differ.
// RUN: inarch-opt %s -p 'annotate{backends="a-b=ccompiler:prefix=gcc","a_b=ccompiler" keep="sub=a-b"}' | filecheck %s --check-prefix=ANNOTATE
// RUN: inarch-opt %s -p 'annotate{backends="a-b=ccompiler:prefix=gcc","a_b=ccompiler" keep="sub=a-b"}' | inarch-opt -p merge-composites,merge-regions,partition | filecheck %s
// RUN: not inarch-opt %s -p 'annotate{backends="a=ccompiler:prefix=gcc"},annotate{backends="a=ccompiler"}' 2>&1 | filecheck %s --check-prefix=CLASH
// RUN: not inarch-opt %s -p 'annotate{backends="a=ccompilr"}' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// ANNOTATE: builtin.module attributes {partition.instances = ["a-b=ccompiler:prefix=gcc", "a_b=ccompiler"]}
// ANNOTATE: graph.add {{.*}} {partition.backend = "a-b"}
// ANNOTATE: graph.sub {{.*}} {partition.keep = ["a-b"], partition.backend = "a_b"}

// CHECK: partition.instances = ["a-b=ccompiler:prefix=gcc", "a_b=ccompiler"]
// CHECK: graph.call @a_b_0(
// CHECK: graph.call @a_b_1(
// CHECK: func.func private @a_b_0({{.*}} attributes {compiler = "a-b"}
// CHECK: func.func private @a_b_1({{.*}} attributes {compiler = "a_b"}

// CLASH: error: backend 'a' is asked for as a=ccompiler:prefix=gcc and as a=ccompiler; give one of them a name of its own, such as other=ccompiler
// UNKNOWN: error: annotate: no backend 'ccompilr'; did you mean 'ccompiler'? Known: {{.*}}; add one as backends/<name>.py or with --load FILE.py

func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.add %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.sub %0, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
