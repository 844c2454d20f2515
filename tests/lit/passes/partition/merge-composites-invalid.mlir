// RUN: inarch-opt %s --load %S/Inputs/toy.py --split-input-file --verify-diagnostics -p merge-composites

func.func @two_ends(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-error @below {{partitioning I2: 'graph.neg': expected one op of a match with users outside, found 2}}
  %a = graph.neg %x {partition.backend = "toy", partition.pattern = "p", partition.match = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  %b = graph.neg %a {partition.backend = "toy", partition.pattern = "p", partition.match = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @no_owner(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{partitioning I1: 'graph.neg': expected an owner beside other partition attributes}}
  %a = graph.neg %x {partition.match = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
