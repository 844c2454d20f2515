// RUN: inarch-opt %s --split-input-file -p lower-precision --remarks 2>&1 | filecheck %s

// Both factors, where the target multiplies two of that dtype.
builtin.module attributes {inarch.target = "x86-64-v4+avx512bf16", inarch.precision = "bf16"} {
  func.func @both(%x: tensor<3x6xf32>, %y: tensor<6x5xf32>) -> tensor<3x5xf32> {
    %0 = graph.matmul %x, %y : tensor<3x6xf32>, tensor<6x5xf32> -> tensor<3x5xf32>
    func.return %0 : tensor<3x5xf32>
  }
}
// CHECK:       remark: [lower-precision] its factors are rounded to bf16
// CHECK:       remark: [lower-precision] its weights are rounded to f16
// CHECK:       remark: [lower-precision] missed: no kernel of the target multiplies two factors of f16
// CHECK:       remark: [lower-precision] missed: its channels are in groups
// CHECK-LABEL: @both
// CHECK-NEXT:  %[[X:.*]] = graph.cast %x to bf16
// CHECK-NEXT:  %[[Y:.*]] = graph.cast %y to bf16
// CHECK-NEXT:  graph.matmul %[[X]], %[[Y]] to = f32 : tensor<3x6xbf16>, tensor<6x5xbf16> -> tensor<3x5xf32>

// -----

// Else constant weights that are not small; not activations.
builtin.module attributes {inarch.target = "x86-64-v3", inarch.precision = "f16"} {
  func.func @weights(%x: tensor<3x600xf32>, %y: tensor<600x500xf32>) -> (tensor<3x500xf32>, tensor<3x500xf32>) {
    %w = graph.constant dense<2.5> : tensor<600x500xf32>
    %0 = graph.matmul %x, %w : tensor<3x600xf32>, tensor<600x500xf32> -> tensor<3x500xf32>
    %1 = graph.matmul %x, %y : tensor<3x600xf32>, tensor<600x500xf32> -> tensor<3x500xf32>
    func.return %0, %1 : tensor<3x500xf32>, tensor<3x500xf32>
  }
}
// CHECK-LABEL: @weights
// CHECK:       %[[W:.*]] = graph.cast %w to f16
// CHECK-NEXT:  graph.matmul %x, %[[W]] to = f32
// CHECK-NEXT:  graph.matmul %x, %y :

// -----

builtin.module attributes {inarch.target = "x86-64-v4+avx512bf16", inarch.precision = "bf16"} {
  func.func @groups(%x: tensor<1x4x5x5xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x4x3x3xf32> {
    %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 4 : tensor<1x4x5x5xf32>, tensor<4x1x3x3xf32> -> tensor<1x4x3x3xf32>
    func.return %0 : tensor<1x4x3x3xf32>
  }
}
// CHECK-LABEL: @groups
// CHECK-NEXT:  graph.conv %x, %w strides

// -----

// Without it nothing is rounded.
func.func @none(%x: tensor<3x6xf32>, %y: tensor<6x5xf32>) -> tensor<3x5xf32> {
  %0 = graph.matmul %x, %y : tensor<3x6xf32>, tensor<6x5xf32> -> tensor<3x5xf32>
  func.return %0 : tensor<3x5xf32>
}
// CHECK-LABEL: @none
// CHECK-NEXT:  graph.matmul %x, %y :

// -----

// Weights that are stored narrow stay so, also where they are moved.
builtin.module attributes {inarch.target = "x86-64-v4+avx512bf16", inarch.precision = "bf16"} {
  func.func @stored(%x: tensor<3x6xf32>) -> tensor<3x5xf32> {
    %w = graph.constant dense<2.5> : tensor<5x6xf16>
    %0 = graph.cast %w to f32 : tensor<5x6xf16> -> tensor<5x6xf32>
    %1 = graph.transpose %0 perm = [1, 0] : tensor<5x6xf32> -> tensor<6x5xf32>
    %2 = graph.matmul %x, %1 : tensor<3x6xf32>, tensor<6x5xf32> -> tensor<3x5xf32>
    func.return %2 : tensor<3x5xf32>
  }
}
// CHECK-LABEL: @stored
// CHECK:       graph.matmul %x, {{.*}} : tensor<3x6xf32>, tensor<6x5xf32> -> tensor<3x5xf32>
