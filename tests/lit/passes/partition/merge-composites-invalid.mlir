// RUN: inarch-opt %s --load %S/Inputs/toy.py --split-input-file --verify-diagnostics -p merge-composites

func.func @without_an_end(%x: tensor<4xf32>) {
  // expected-error @below {{partitioning I2: 'graph.neg': expected an op of a match with users outside, found none}}
  %a = graph.neg %x {partition.backend = "toy", partition.pattern = "p", partition.match = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

func.func @left_and_entered_again(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-error @below {{partitioning I2: 'graph.neg': expected no cycle through matches}}
  %a = graph.neg %x {partition.backend = "toy", partition.pattern = "p", partition.match = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  %e = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
  %b = graph.neg %e {partition.backend = "toy", partition.pattern = "p", partition.match = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @no_owner(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{partitioning I1: 'graph.neg': expected an owner beside other partition attributes}}
  %a = graph.neg %x {partition.match = 0 : i64} : tensor<4xf32> -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
