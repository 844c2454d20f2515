// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// reduce_sum, C0
func.func @sum_result(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_sum' C0: expected result 0 of type tensor<2xf32>, found tensor<3xf32>}}
  %0 = graph.reduce_sum %x axes = [1] : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----

// reduce_sum, C1, out of range
func.func @sum_range(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_sum' C1: expected ascending axes of rank 2, found [2]}}
  %0 = graph.reduce_sum %x axes = [2] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// reduce_sum, C1, twice
func.func @sum_twice(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_sum' C1: expected ascending axes of rank 2, found [1, 1]}}
  %0 = graph.reduce_sum %x axes = [1, 1] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// reduce_sum, C2
func.func @sum_bools(%x: tensor<2x3xi1>) {
  // expected-error @below {{'graph.reduce_sum' C2: expected a float or integer dtype, found i1}}
  %0 = graph.reduce_sum %x axes = [1] : tensor<2x3xi1> -> tensor<2xi1>
  func.return
}

// -----

// reduce_mean, C0
func.func @mean_result(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_mean' C0: expected result 0 of type tensor<2xf32>, found tensor<3xf32>}}
  %0 = graph.reduce_mean %x axes = [1] : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----

// reduce_mean, C1, out of range
func.func @mean_range(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_mean' C1: expected ascending axes of rank 2, found [2]}}
  %0 = graph.reduce_mean %x axes = [2] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// reduce_mean, C1, twice
func.func @mean_twice(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_mean' C1: expected ascending axes of rank 2, found [1, 1]}}
  %0 = graph.reduce_mean %x axes = [1, 1] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// reduce_mean, C2
func.func @mean_bools(%x: tensor<2x3xi1>) {
  // expected-error @below {{'graph.reduce_mean' C2: expected a float or integer dtype, found i1}}
  %0 = graph.reduce_mean %x axes = [1] : tensor<2x3xi1> -> tensor<2xi1>
  func.return
}

// -----

// reduce_max, C0
func.func @max_result(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_max' C0: expected result 0 of type tensor<2xf32>, found tensor<3xf32>}}
  %0 = graph.reduce_max %x axes = [1] : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----

// reduce_max, C1, out of range
func.func @max_range(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_max' C1: expected ascending axes of rank 2, found [2]}}
  %0 = graph.reduce_max %x axes = [2] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// reduce_max, C1, twice
func.func @max_twice(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_max' C1: expected ascending axes of rank 2, found [1, 1]}}
  %0 = graph.reduce_max %x axes = [1, 1] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// reduce_max, C2
func.func @max_bools(%x: tensor<2x3xi1>) {
  // expected-error @below {{'graph.reduce_max' C2: expected a float or integer dtype, found i1}}
  %0 = graph.reduce_max %x axes = [1] : tensor<2x3xi1> -> tensor<2xi1>
  func.return
}

// -----

// reduce_min, C0
func.func @min_result(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_min' C0: expected result 0 of type tensor<2xf32>, found tensor<3xf32>}}
  %0 = graph.reduce_min %x axes = [1] : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----

// reduce_min, C1, out of range
func.func @min_range(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_min' C1: expected ascending axes of rank 2, found [2]}}
  %0 = graph.reduce_min %x axes = [2] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// reduce_min, C1, twice
func.func @min_twice(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_min' C1: expected ascending axes of rank 2, found [1, 1]}}
  %0 = graph.reduce_min %x axes = [1, 1] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// reduce_min, C2
func.func @min_bools(%x: tensor<2x3xi1>) {
  // expected-error @below {{'graph.reduce_min' C2: expected a float or integer dtype, found i1}}
  %0 = graph.reduce_min %x axes = [1] : tensor<2x3xi1> -> tensor<2xi1>
  func.return
}

// -----

// reduce_prod, C0
func.func @prod_result(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_prod' C0: expected result 0 of type tensor<2xf32>, found tensor<3xf32>}}
  %0 = graph.reduce_prod %x axes = [1] : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----

// reduce_prod, C1, out of range
func.func @prod_range(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_prod' C1: expected ascending axes of rank 2, found [2]}}
  %0 = graph.reduce_prod %x axes = [2] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// reduce_prod, C1, twice
func.func @prod_twice(%x: tensor<2x3xf32>) {
  // expected-error @below {{'graph.reduce_prod' C1: expected ascending axes of rank 2, found [1, 1]}}
  %0 = graph.reduce_prod %x axes = [1, 1] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----

// reduce_prod, C2
func.func @prod_bools(%x: tensor<2x3xi1>) {
  // expected-error @below {{'graph.reduce_prod' C2: expected a float or integer dtype, found i1}}
  %0 = graph.reduce_prod %x axes = [1] : tensor<2x3xi1> -> tensor<2xi1>
  func.return
}

// -----

// reduce_mean, C2, short integers
func.func @mean_short(%x: tensor<2x3xi8>) {
  // expected-error @below {{'graph.reduce_mean' C2: expected a float, or an integer of 32 or 64 bits, found i8}}
  %0 = graph.reduce_mean %x axes = [1] : tensor<2x3xi8> -> tensor<2xi8>
  func.return
}

// -----

// reduce_mean, C3
func.func @mean_of_nothing(%x: tensor<2x0xi32>) {
  // expected-error @below {{'graph.reduce_mean' C3: expected at least one element in an integer mean, found none}}
  %0 = graph.reduce_mean %x axes = [1] : tensor<2x0xi32> -> tensor<2xi32>
  func.return
}
