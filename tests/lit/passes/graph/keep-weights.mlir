// RUN: inarch-opt %s --split-input-file -p keep-weights,fold-constants --remarks=keep-weights 2>&1 | filecheck %s
// RUN: inarch-opt %s --split-input-file -p keep-weights,fold-constants --verify-semantics -o %t

// Weights are read as they are stored, also where they are moved; what moves them is done at compile time.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  func.func @product(%x: tensor<3x600xf32>) -> tensor<3x500xf32> {
    %w = graph.constant dense<2.5> : tensor<500x600xf16>
    %0 = graph.cast %w to f32 : tensor<500x600xf16> -> tensor<500x600xf32>
    %1 = graph.transpose %0 perm = [1, 0] : tensor<500x600xf32> -> tensor<600x500xf32>
    %2 = graph.matmul %x, %1 : tensor<3x600xf32>, tensor<600x500xf32> -> tensor<3x500xf32>
    func.return %2 : tensor<3x500xf32>
  }
}
// CHECK:       remark: [keep-weights] reads its weights as f16
// CHECK:       remark: [keep-weights] reads its weights as bf16
// CHECK:       remark: [keep-weights] missed: no kernel of the target reads weights of f16
// CHECK-LABEL: @product
// CHECK:       %[[W:.*]] = graph.constant {{.*}} : tensor<600x500xf16>
// CHECK-NEXT:  graph.matmul %x, %[[W]] to = f32 : tensor<3x600xf32>, tensor<600x500xf16> -> tensor<3x500xf32>

// -----

builtin.module attributes {inarch.target = "x86-64-v3"} {
  func.func @convolution(%x: tensor<1x256x5x5xf32>, %b: tensor<128xf32>) -> tensor<1x128x3x3xf32> {
    %w = graph.constant dense<0.5> : tensor<128x256x3x3xbf16>
    %0 = graph.cast %w to f32 : tensor<128x256x3x3xbf16> -> tensor<128x256x3x3xf32>
    %1 = graph.conv %x, %0 bias %b strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 : tensor<1x256x5x5xf32>, tensor<128x256x3x3xf32>, tensor<128xf32> -> tensor<1x128x3x3xf32>
    func.return %1 : tensor<1x128x3x3xf32>
  }
}
// CHECK-LABEL: @convolution
// CHECK:       graph.conv %x, {{.*}} bias %b {{.*}} to = f32 : tensor<1x256x5x5xf32>, tensor<128x256x3x3xbf16>, tensor<128xf32> -> tensor<1x128x3x3xf32>

// -----

// x86-64-v2 has no F16C: the weights are widened by a nest of their own.
builtin.module attributes {inarch.target = "x86-64-v2"} {
  func.func @without(%x: tensor<3x600xf32>) -> tensor<3x500xf32> {
    %w = graph.constant dense<2.5> : tensor<600x500xf16>
    %0 = graph.cast %w to f32 : tensor<600x500xf16> -> tensor<600x500xf32>
    %1 = graph.matmul %x, %0 : tensor<3x600xf32>, tensor<600x500xf32> -> tensor<3x500xf32>
    func.return %1 : tensor<3x500xf32>
  }
}
// CHECK-LABEL: @without
// CHECK:       graph.cast
// CHECK-NEXT:  graph.matmul
