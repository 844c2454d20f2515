// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @neg_of_integers(
// CHECK-NEXT: graph.neg %x : tensor<2x3xi8> -> tensor<2x3xi8>
func.func @neg_of_integers(%x: tensor<2x3xi8>) {
  %0 = graph.neg %x : tensor<2x3xi8> -> tensor<2x3xi8>
  func.return
}

// CHECK-LABEL: func.func @abs_of_integers(
// CHECK-NEXT: graph.abs %x : tensor<2x3xi8> -> tensor<2x3xi8>
func.func @abs_of_integers(%x: tensor<2x3xi8>) {
  %0 = graph.abs %x : tensor<2x3xi8> -> tensor<2x3xi8>
  func.return
}

// CHECK-LABEL: func.func @sign_of_integers(
// CHECK-NEXT: graph.sign %x : tensor<2x3xi8> -> tensor<2x3xi8>
func.func @sign_of_integers(%x: tensor<2x3xi8>) {
  %0 = graph.sign %x : tensor<2x3xi8> -> tensor<2x3xi8>
  func.return
}

// CHECK-LABEL: func.func @relu_of_integers(
// CHECK-NEXT: graph.relu %x : tensor<2x3xi8> -> tensor<2x3xi8>
func.func @relu_of_integers(%x: tensor<2x3xi8>) {
  %0 = graph.relu %x : tensor<2x3xi8> -> tensor<2x3xi8>
  func.return
}

// CHECK-LABEL: func.func @neg_of_floats(
// CHECK-NEXT: graph.neg %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @neg_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.neg %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @abs_of_floats(
// CHECK-NEXT: graph.abs %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @abs_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.abs %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @sign_of_floats(
// CHECK-NEXT: graph.sign %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @sign_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.sign %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @relu_of_floats(
// CHECK-NEXT: graph.relu %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @relu_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.relu %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @exp_of_floats(
// CHECK-NEXT: graph.exp %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @exp_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.exp %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @expm1_of_floats(
// CHECK-NEXT: graph.expm1 %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @expm1_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.expm1 %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @log_of_floats(
// CHECK-NEXT: graph.log %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @log_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.log %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @log1p_of_floats(
// CHECK-NEXT: graph.log1p %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @log1p_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.log1p %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @sqrt_of_floats(
// CHECK-NEXT: graph.sqrt %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @sqrt_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.sqrt %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @reciprocal_of_floats(
// CHECK-NEXT: graph.reciprocal %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @reciprocal_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.reciprocal %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @erf_of_floats(
// CHECK-NEXT: graph.erf %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @erf_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.erf %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @tanh_of_floats(
// CHECK-NEXT: graph.tanh %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @tanh_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.tanh %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @sigmoid_of_floats(
// CHECK-NEXT: graph.sigmoid %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @sigmoid_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.sigmoid %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @sin_of_floats(
// CHECK-NEXT: graph.sin %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @sin_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.sin %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @cos_of_floats(
// CHECK-NEXT: graph.cos %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @cos_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.cos %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @floor_of_floats(
// CHECK-NEXT: graph.floor %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @floor_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.floor %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @ceil_of_floats(
// CHECK-NEXT: graph.ceil %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @ceil_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.ceil %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @round_of_floats(
// CHECK-NEXT: graph.round %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @round_of_floats(%x: tensor<2x3xf32>) {
  %0 = graph.round %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @scalar(
// CHECK-NEXT: graph.exp %x : tensor<f64> -> tensor<f64>
func.func @scalar(%x: tensor<f64>) {
  %0 = graph.exp %x : tensor<f64> -> tensor<f64>
  func.return
}

// CHECK-LABEL: func.func @empty(
// CHECK-NEXT: graph.exp %x : tensor<0x3xf64> -> tensor<0x3xf64>
func.func @empty(%x: tensor<0x3xf64>) {
  %0 = graph.exp %x : tensor<0x3xf64> -> tensor<0x3xf64>
  func.return
}
