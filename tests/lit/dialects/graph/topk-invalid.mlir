// RUN: inarch-opt %s --split-input-file --verify-diagnostics

func.func @axis(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  // expected-error @below {{C1: expected an axis of rank 1, found 1}}
  %v, %i = graph.topk %x k = 4 axis = 1 : tensor<4xf32> -> tensor<4xf32>, tensor<4xi64>
  func.return %v, %i : tensor<4xf32>, tensor<4xi64>
}

// -----

func.func @bools(%x: tensor<4xi1>) -> (tensor<2xi1>, tensor<2xi64>) {
  // expected-error @below {{C2: expected numbers, found i1}}
  %v, %i = graph.topk %x k = 2 axis = 0 : tensor<4xi1> -> tensor<2xi1>, tensor<2xi64>
  func.return %v, %i : tensor<2xi1>, tensor<2xi64>
}

// -----

func.func @too_many(%x: tensor<4xf32>) -> (tensor<5xf32>, tensor<5xi64>) {
  // expected-error @below {{C3: expected a k from 0 to 4, found 5}}
  %v, %i = graph.topk %x k = 5 axis = 0 : tensor<4xf32> -> tensor<5xf32>, tensor<5xi64>
  func.return %v, %i : tensor<5xf32>, tensor<5xi64>
}
