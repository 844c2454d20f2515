// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: @constants
func.func @constants() {
  // CHECK: graph.constant dense<1.000000e+00> : tensor<f32>
  %0 = graph.constant dense<1.0> : tensor<f32>
  // CHECK: graph.constant dense<[1, -2]> : tensor<2xi64>
  %1 = graph.constant dense<[1, -2]> : tensor<2xi64>
  // CHECK: graph.constant dense<[true, false]> : tensor<2xi1>
  %2 = graph.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: graph.constant dense_resource<w0> : tensor<1000xf32>
  %3 = graph.constant dense_resource<w0> : tensor<1000xf32>
  // CHECK: graph.constant dense<> : tensor<0x3xf32>
  %4 = graph.constant dense<> : tensor<0x3xf32>
  func.return
}
