// A softmax: a composite of four nests, with an exponential of our own.

// RUN: inarch compile %s --target=generic --emit=graph | filecheck %s --check-prefix=GRAPH
// RUN: inarch compile %s --target=generic --emit=loop | filecheck %s --check-prefix=LOOP
// RUN: inarch compile %s --target=generic --emit=kernel | filecheck %s --check-prefix=KERNEL
// RUN: inarch compile %s --target=generic --emit=c | filecheck %s --check-prefix=C
// RUN: inarch run %s --check=%s

// GRAPH: graph.softmax %x axis = 1

// LOOP: arith.maximumf
// LOOP: math.exp
// LOOP: arith.addf
// LOOP: arith.divf
// LOOP: arith.mulf

// KERNEL: loop.call @rows_[[MAX:[0-9a-f]+]]_MR2_once_{{[0-9a-f]+}}(%x, %[[M:[0-9]+]])
// KERNEL: loop.call @map_2x10_[[EXP:[0-9a-f]+]](%x, %[[M]], %out)
// KERNEL: loop.call @rows_[[SUM:[0-9a-f]+]]_MR2_once_{{[0-9a-f]+}}(%out, %[[S:[0-9]+]])
// KERNEL: loop.call @map_2x10_[[MUL:[0-9a-f]+]](%[[S]], %out)

// C:     int32_t softmax_main_run(
// C-NOT: {{[^_]}}expf(
func.func @main(%x: tensor<2x10xf32>) -> tensor<2x10xf32> {
  %0 = graph.softmax %x axis = 1 : tensor<2x10xf32> -> tensor<2x10xf32>
  func.return %0 : tensor<2x10xf32>
}
