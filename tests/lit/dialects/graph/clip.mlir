// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @relu6(
// CHECK-NEXT: graph.clip %x low = 0.0 high = 6.0 : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @relu6(%x: tensor<2x3xf32>) {
  %0 = graph.clip %x low = 0.000000e+00 high = 6.000000e+00 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @only_low(
// CHECK-NEXT: graph.clip %x low = -1.5 : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @only_low(%x: tensor<2x3xf32>) {
  %0 = graph.clip %x low = -1.500000e+00 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @only_high(
// CHECK-NEXT: graph.clip %x high = 200.0 : tensor<ui8> -> tensor<ui8>
func.func @only_high(%x: tensor<ui8>) {
  %0 = graph.clip %x high = 2.000000e+02 : tensor<ui8> -> tensor<ui8>
  func.return
}

// CHECK-LABEL: func.func @no_limits(
// CHECK-NEXT: graph.clip %x : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @no_limits(%x: tensor<2x3xf32>) {
  %0 = graph.clip %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @low_above_high(
// CHECK-NEXT: graph.clip %x low = 3.0 high = 2.0 : tensor<2x3xf32> -> tensor<2x3xf32>
func.func @low_above_high(%x: tensor<2x3xf32>) {
  %0 = graph.clip %x low = 3.000000e+00 high = 2.000000e+00 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// An integer is its own number, beyond what f64 has:
// CHECK-LABEL: func.func @whole(
// CHECK-NEXT: graph.clip %x low = -9007199254740993 high = 9223372036854775807 : tensor<i64> -> tensor<i64>
func.func @whole(%x: tensor<i64>) {
  %0 = graph.clip %x low = -9007199254740993 high = 9223372036854775807 : tensor<i64> -> tensor<i64>
  func.return
}
