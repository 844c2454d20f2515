// RUN: inarch-opt %s --load %S/Inputs/toy.py --split-input-file --verify-diagnostics -p partition

func.func @not_convex(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{partitioning I3: 'graph.mul': expected no cycle through regions}}
  %a = graph.mul %x, %x {partition.backend = "toy", partition.region = 0 : i64} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %b = graph.tanh %a : tensor<4xf32> -> tensor<4xf32>
  %c = graph.mul %a, %b {partition.backend = "toy", partition.region = 0 : i64} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// -----

func.func private @toy_0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {compiler = "toy"} {
  // expected-error @below {{partitioning I4: 'graph.call': expected graph ops that are no calls in a function of toy}}
  %a = graph.call @toy_0(%x) : tensor<4xf32> -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
