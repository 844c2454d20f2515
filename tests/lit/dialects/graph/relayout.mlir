// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// The value does not change, so folding gives a row-major constant, and the reference is a copy.
// RUN: inarch-opt %s -p fold-constants | filecheck %s --check-prefix FOLDED

// CHECK-LABEL: @there_and_back
func.func @there_and_back(%x: tensor<1x32x4x4xf32>) -> tensor<1x32x4x4xf32> {
  // CHECK: %0 = graph.relayout %x : tensor<1x32x4x4xf32> -> tensor<1x32x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
  %0 = graph.relayout %x : tensor<1x32x4x4xf32> -> tensor<1x32x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
  // CHECK-NEXT: graph.relu %0 : tensor<1x32x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>> -> tensor<1x32x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
  %1 = graph.relu %0 : tensor<1x32x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>> -> tensor<1x32x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>>
  // CHECK-NEXT: graph.relayout %1 : tensor<1x32x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>> -> tensor<1x32x4x4xf32>
  %2 = graph.relayout %1 : tensor<1x32x4x4xf32, #graph.layout<block = [0, 16, 0, 0], halo = []>> -> tensor<1x32x4x4xf32>
  func.return %2 : tensor<1x32x4x4xf32>
}

// FOLDED-LABEL: @constant
func.func @constant() -> tensor<2x2xi32> {
  // FOLDED-NEXT: %[[C:.*]] = graph.constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi32>
  // FOLDED-NEXT: func.return %[[C]]
  %0 = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %1 = graph.relayout %0 : tensor<2x2xi32> -> tensor<2x2xi32, #graph.layout<block = [2, 0], halo = []>>
  %2 = graph.relayout %1 : tensor<2x2xi32, #graph.layout<block = [2, 0], halo = []>> -> tensor<2x2xi32>
  func.return %2 : tensor<2x2xi32>
}
