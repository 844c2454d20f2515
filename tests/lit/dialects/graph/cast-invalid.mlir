// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1
func.func @to_an_unsupported_dtype(%x: tensor<2xf32>) {
  // expected-error @below {{'graph.cast' C1: expected a supported dtype, found i7}}
  %0 = graph.cast %x to i7 : tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----

// C0
func.func @result_of_another_dtype(%x: tensor<2xf32>) {
  // expected-error @below {{'graph.cast' C0: expected result 0 of type tensor<2xi8>, found tensor<2xi16>}}
  %0 = graph.cast %x to i8 : tensor<2xf32> -> tensor<2xi16>
  func.return
}
