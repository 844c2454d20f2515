// RUN: inarch-opt %s --split-input-file -p keep-integers --remarks 2>&1 | filecheck %s

// The zero point of the image is in the bias, and in what pads; the scale of the result is in the factor.
builtin.module attributes {inarch.target = "x86-64-v4+avx512vnni"} {
  func.func @convolution(%q: tensor<1x4x5x5xui8>) -> tensor<1x2x5x5xui8> {
    %sx = graph.constant dense<5.000000e-01> : tensor<f32>
    %zx = graph.constant dense<3> : tensor<ui8>
    %w = graph.constant dense<2> : tensor<2x4x3x3xi8>
    %sw = graph.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
    %sy = graph.constant dense<1.250000e-01> : tensor<f32>
    %x = graph.dequantize %q scale %sx zero %zx : tensor<1x4x5x5xui8>, tensor<f32>, tensor<ui8> -> tensor<1x4x5x5xf32>
    %y = graph.dequantize %w scale %sw axis = 0 : tensor<2x4x3x3xi8>, tensor<2xf32> -> tensor<2x4x3x3xf32>
    %0 = graph.conv %x, %y strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x4x5x5xf32>, tensor<2x4x3x3xf32> -> tensor<1x2x5x5xf32>
    %1 = graph.relu %0 : tensor<1x2x5x5xf32> -> tensor<1x2x5x5xf32>
    %2 = graph.quantize %1 scale %sy zero %zx to ui8 : tensor<1x2x5x5xf32>, tensor<f32>, tensor<ui8> -> tensor<1x2x5x5xui8>
    func.return %2 : tensor<1x2x5x5xui8>
  }
}
// CHECK:       remark: [keep-integers] summed up as integers, and scaled once
// CHECK:       remark: [keep-integers] missed: its weights are no constants of i8 with a scale for each output
// CHECK:       remark: [keep-integers] missed: the product of its scales is no normal number of f32
// CHECK-LABEL: @convolution
// CHECK:       %[[W:.*]] = graph.constant dense_resource<quantized> : tensor<2x4x3x3xi8>
// CHECK-NEXT:  %[[B:.*]] = graph.constant dense<-216> : tensor<2xi32>
// CHECK-NEXT:  %[[X:.*]] = graph.pad %q low = [0, 0, 1, 1] high = [0, 0, 1, 1] value = 3.0
// CHECK-NEXT:  %[[S:.*]] = graph.conv %[[X]], %[[W]] bias %[[B]] strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1 to = i32
// CHECK-NEXT:  %[[F:.*]] = graph.cast %[[S]] to f32
// CHECK-NEXT:  %[[M:.*]] = graph.constant dense<{{.*}}2.000000e+00{{.*}}1.000000e+00{{.*}}> : tensor<1x2x1x1xf32>
// CHECK-NEXT:  %[[Y:.*]] = graph.mul %[[F]], %[[M]]
// CHECK-NEXT:  %[[R:.*]] = graph.relu %[[Y]]
// CHECK-NEXT:  %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:  graph.quantize %[[R]] scale %[[ONE]] zero %zx to ui8

// -----

// No kernel has a depthwise convolution, whatever integers it takes: f32 holds the same sums, by the algorithm that does not round.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  func.func @depthwise(%q: tensor<1x2x5x5xui8>) -> tensor<1x2x3x3xf32> {
    %sx = graph.constant dense<5.000000e-01> : tensor<f32>
    %w = graph.constant dense<2> : tensor<2x1x3x3xi8>
    %x = graph.dequantize %q scale %sx : tensor<1x2x5x5xui8>, tensor<f32> -> tensor<1x2x5x5xf32>
    %y = graph.dequantize %w scale %sx : tensor<2x1x3x3xi8>, tensor<f32> -> tensor<2x1x3x3xf32>
    %0 = graph.conv %x, %y strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 2 : tensor<1x2x5x5xf32>, tensor<2x1x3x3xf32> -> tensor<1x2x3x3xf32>
    func.return %0 : tensor<1x2x3x3xf32>
  }
}
// CHECK-LABEL: @depthwise
// CHECK-NEXT:  %[[X:.*]] = graph.cast %q to f32
// CHECK-NEXT:  %[[W:.*]] = graph.constant dense{{.*}} : tensor<2x1x3x3xf32>
// CHECK-NEXT:  %[[S:.*]] = graph.conv %[[X]], %[[W]] {{.*}} {inarch.algorithm = "direct"}
// CHECK-NEXT:  %[[M:.*]] = graph.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT:  graph.mul %[[S]], %[[M]]

// -----

// Signed activations are flipped; a zero point that is known at run time only is a product with sums of weights.
builtin.module attributes {inarch.target = "x86-64-v4+avx512vnni"} {
  func.func @products(%a: tensor<2x4xi8>, %b: tensor<2x4xui8>, %zb: tensor<ui8>) -> (tensor<2x3xi32>, tensor<2x3xi32>) {
    %one = graph.constant dense<1> : tensor<i32>
    %w = graph.constant dense<3> : tensor<4x3xi8>
    %y = graph.dequantize %w scale %one : tensor<4x3xi8>, tensor<i32> -> tensor<4x3xi32>
    %x = graph.dequantize %a scale %one : tensor<2x4xi8>, tensor<i32> -> tensor<2x4xi32>
    %0 = graph.matmul %x, %y : tensor<2x4xi32>, tensor<4x3xi32> -> tensor<2x3xi32>
    %v = graph.dequantize %b scale %one zero %zb : tensor<2x4xui8>, tensor<i32>, tensor<ui8> -> tensor<2x4xi32>
    %1 = graph.matmul %v, %y : tensor<2x4xi32>, tensor<4x3xi32> -> tensor<2x3xi32>
    func.return %0, %1 : tensor<2x3xi32>, tensor<2x3xi32>
  }
}
// CHECK-LABEL: @products
// CHECK:       %[[A:.*]] = graph.cast %a to ui8
// CHECK:       %[[U:.*]] = graph.bitwise_xor %[[A]]
// CHECK:       %[[C:.*]] = graph.constant dense<-1536> : tensor<3xi32>
// CHECK:       %[[P:.*]] = graph.matmul %[[U]], {{.*}} to = i32
// CHECK:       graph.add %[[P]], %[[C]]
// CHECK:       %[[Q:.*]] = graph.matmul %b, {{.*}} to = i32
// CHECK:       %[[Z:.*]] = graph.cast %zb to i32
// CHECK:       graph.mul %{{.*}}, %[[Z]]
// CHECK:       graph.sub %[[Q]]

// -----

// A third more channels of zeros make fours. With kernels of 16 bits, these are the bytes less their zero point, made once, for all that dequantizes them.
builtin.module attributes {inarch.target = "x86-64-v4+avx512vnni"} {
  func.func @fours(%q: tensor<1x3x5x5xui8>) -> tensor<1x2x5x5xf32> {
    %s = graph.constant dense<5.000000e-01> : tensor<f32>
    %w = graph.constant dense<2> : tensor<2x3x3x3xi8>
    %x = graph.dequantize %q scale %s : tensor<1x3x5x5xui8>, tensor<f32> -> tensor<1x3x5x5xf32>
    %y = graph.dequantize %w scale %s : tensor<2x3x3x3xi8>, tensor<f32> -> tensor<2x3x3x3xf32>
    %0 = graph.conv %x, %y strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x3x5x5xf32>, tensor<2x3x3x3xf32> -> tensor<1x2x5x5xf32>
    func.return %0 : tensor<1x2x5x5xf32>
  }
}
// CHECK-LABEL: @fours
// CHECK:       %[[W:.*]] = graph.constant dense_resource<quantized> : tensor<2x4x3x3xi8>
// CHECK-NEXT:  %[[X:.*]] = graph.pad %q low = [0, 0, 0, 0] high = [0, 1, 0, 0] value = 0.0
// CHECK-NEXT:  graph.conv %[[X]], %[[W]] strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 to = i32

// -----

builtin.module attributes {inarch.target = "x86-64-v3"} {
  func.func @sixteen(%f: tensor<1x2x5x5xf32>) -> (tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>) {
    %s = graph.constant dense<5.000000e-01> : tensor<f32>
    %z = graph.constant dense<3> : tensor<ui8>
    %w = graph.constant dense<2> : tensor<2x2x3x3xi8>
    %q = graph.quantize %f scale %s zero %z to ui8 : tensor<1x2x5x5xf32>, tensor<f32>, tensor<ui8> -> tensor<1x2x5x5xui8>
    %x = graph.dequantize %q scale %s zero %z : tensor<1x2x5x5xui8>, tensor<f32>, tensor<ui8> -> tensor<1x2x5x5xf32>
    %y = graph.dequantize %w scale %s : tensor<2x2x3x3xi8>, tensor<f32> -> tensor<2x2x3x3xf32>
    %0 = graph.conv %x, %y strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x2x5x5xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x5x5xf32>
    %1 = graph.relu %x : tensor<1x2x5x5xf32> -> tensor<1x2x5x5xf32>
    func.return %0, %1 : tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>
  }
}
// CHECK-LABEL: @sixteen
// CHECK:       %[[Q:.*]] = graph.quantize %f
// CHECK-NEXT:  %[[C:.*]] = graph.cast %[[Q]] to i16
// CHECK-NEXT:  %[[Z:.*]] = graph.constant dense<3> : tensor<i16>
// CHECK-NEXT:  %[[X:.*]] = graph.sub %[[C]], %[[Z]]
// CHECK-NEXT:  %[[D:.*]] = graph.dequantize %[[X]] scale %{{.*}} : tensor<1x2x5x5xi16>
// CHECK-NEXT:  %[[W:.*]] = graph.constant dense_resource<quantized{{.*}}> : tensor<2x2x3x3xi16>
// CHECK-NEXT:  graph.conv %[[X]], %[[W]] strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 to = i32
// CHECK:       graph.relu %[[D]]

// -----

// Six terms are no fours: signed bytes are not flipped for kernels of 16 bits.
builtin.module attributes {inarch.target = "x86-64-v4+avx512vnni"} {
  func.func @six(%q: tensor<2x6xi8>) -> tensor<2x3xf32> {
    %s = graph.constant dense<5.000000e-01> : tensor<f32>
    %z = graph.constant dense<3> : tensor<i8>
    %w = graph.constant dense<2> : tensor<6x3xi8>
    %x = graph.dequantize %q scale %s zero %z : tensor<2x6xi8>, tensor<f32>, tensor<i8> -> tensor<2x6xf32>
    %y = graph.dequantize %w scale %s : tensor<6x3xi8>, tensor<f32> -> tensor<6x3xf32>
    %0 = graph.matmul %x, %y : tensor<2x6xf32>, tensor<6x3xf32> -> tensor<2x3xf32>
    func.return %0 : tensor<2x3xf32>
  }
}
// CHECK-LABEL: @six
// CHECK-NEXT:  %[[C:.*]] = graph.cast %q to i16
// CHECK-NEXT:  %[[Z:.*]] = graph.constant dense<3> : tensor<i16>
// CHECK-NEXT:  %[[X:.*]] = graph.sub %[[C]], %[[Z]]
// CHECK-NEXT:  %[[W:.*]] = graph.constant dense_resource<quantized> : tensor<6x3xi16>
// CHECK-NEXT:  graph.matmul %[[X]], %[[W]] to = i32

// -----

// Sums above 2^24 are no f32: terms that are no fours get some more, whose weights are 0, and kernels of bytes take them.
builtin.module attributes {inarch.target = "x86-64-v4+avx512vnni"} {
  func.func @large(%a: tensor<2x521xui8>, %i: tensor<1x65x4x4xui8>) -> (tensor<2x3xf32>, tensor<1x2x4x4xf32>) {
    %s = graph.constant dense<5.000000e-01> : tensor<f32>
    %w = graph.constant dense<127> : tensor<521x3xi8>
    %x = graph.dequantize %a scale %s : tensor<2x521xui8>, tensor<f32> -> tensor<2x521xf32>
    %y = graph.dequantize %w scale %s : tensor<521x3xi8>, tensor<f32> -> tensor<521x3xf32>
    %0 = graph.matmul %x, %y : tensor<2x521xf32>, tensor<521x3xf32> -> tensor<2x3xf32>
    %z = graph.constant dense<7> : tensor<ui8>
    %k = graph.constant dense<127> : tensor<2x65x3x3xi8>
    %u = graph.dequantize %i scale %s zero %z : tensor<1x65x4x4xui8>, tensor<f32>, tensor<ui8> -> tensor<1x65x4x4xf32>
    %v = graph.dequantize %k scale %s : tensor<2x65x3x3xi8>, tensor<f32> -> tensor<2x65x3x3xf32>
    %1 = graph.conv %u, %v strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x65x4x4xf32>, tensor<2x65x3x3xf32> -> tensor<1x2x4x4xf32>
    func.return %0, %1 : tensor<2x3xf32>, tensor<1x2x4x4xf32>
  }
}
// CHECK-LABEL: @large
// CHECK:       %[[P:.*]] = graph.pad %a low = [0, 0] high = [0, 3]
// CHECK:       graph.matmul %[[P]], {{.*}} to = i32 : tensor<2x524xui8>, tensor<524x3xi8>
// CHECK:       %[[I:.*]] = graph.pad %i low = [0, 0, 1, 1] high = [0, 3, 1, 1] value = 7.0
// CHECK:       graph.conv %[[I]], {{.*}} pads = [0, 0, 0, 0]{{.*}} to = i32 : tensor<1x68x6x6xui8>, tensor<2x68x3x3xi8>

// -----

// Weights that are computed, and sums that i32 may not hold, stay what they are.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  func.func @computed(%a: tensor<2x4xui8>, %b: tensor<4x3xi8>) -> tensor<2x3xf32> {
    %s = graph.constant dense<5.000000e-01> : tensor<f32>
    %x = graph.dequantize %a scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
    %y = graph.dequantize %b scale %s : tensor<4x3xi8>, tensor<f32> -> tensor<4x3xf32>
    %0 = graph.matmul %x, %y : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
    func.return %0 : tensor<2x3xf32>
  }
}
// CHECK-LABEL: @computed
// CHECK:       graph.matmul %x, %y

// -----

builtin.module attributes {inarch.target = "x86-64-v3"} {
  func.func @tiny(%a: tensor<2x4xui8>) -> tensor<2x3xf32> {
    %s = graph.constant dense<1.000000e-20> : tensor<f32>
    %b = graph.constant dense<3> : tensor<4x3xi8>
    %x = graph.dequantize %a scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
    %y = graph.dequantize %b scale %s : tensor<4x3xi8>, tensor<f32> -> tensor<4x3xf32>
    %0 = graph.matmul %x, %y : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
    func.return %0 : tensor<2x3xf32>
  }
}
// CHECK-LABEL: @tiny
// CHECK:       graph.matmul %x, %y
