// RUN: inarch-opt %s -t ccompiler | filecheck %s

// T1: the macro is chosen by the rank; T3: several outputs, and buffers by dtype; T5: dtypes.
// CHECK-LABEL: @ccompiler_0
// CHECK:      CSOURCE_BINARY_OP_1D(ccompiler_0_0, +, 7, double);
// CHECK-NEXT: CSOURCE_BINARY_OP_1D(ccompiler_0_1, *, 1, uint32_t);
// CHECK-NEXT: CSOURCE_BINARY_OP_1D(ccompiler_0_2, -, 24, uint8_t);
// CHECK-NEXT: CSOURCE_BINARY_OP_1D(ccompiler_0_3, +, 24, uint8_t);
// CHECK:      static int32_t ccompiler_0_(const double *in0, const uint32_t *in1, const uint8_t *in2, double *out0, uint32_t *out1, uint8_t *out2)
// CHECK:          uint8_t *buf_0 = (uint8_t *)malloc(sizeof(uint8_t) * 24);
// CHECK-NEXT:     if (buf_0 != NULL) {
// CHECK-NEXT:         ccompiler_0_0(in0, in0, out0);
// CHECK-NEXT:         ccompiler_0_1(in1, in1, out1);
// CHECK-NEXT:         ccompiler_0_2(in2, in2, buf_0);
// CHECK-NEXT:         ccompiler_0_3(buf_0, in2, out2);
func.func @ranks(%a: tensor<7xf64>, %b: tensor<i32>, %c: tensor<2x3x4xi8>) -> (tensor<7xf64>, tensor<i32>, tensor<2x3x4xi8>) {
  %0 = graph.add %a, %a : tensor<7xf64>, tensor<7xf64> -> tensor<7xf64>
  %1 = graph.mul %b, %b : tensor<i32>, tensor<i32> -> tensor<i32>
  %2 = graph.sub %c, %c : tensor<2x3x4xi8>, tensor<2x3x4xi8> -> tensor<2x3x4xi8>
  %3 = graph.add %2, %c : tensor<2x3x4xi8>, tensor<2x3x4xi8> -> tensor<2x3x4xi8>
  func.return %0, %1, %3 : tensor<7xf64>, tensor<i32>, tensor<2x3x4xi8>
}

// T7: constants in the order of the program, under their names, exact.
// CHECK-LABEL: @ccompiler_1
// CHECK:      /* constant 0: bias */
// CHECK-NEXT: static const float ccompiler_1_const_0[4] = {
// CHECK-NEXT:     1.0e+00f, -0.0e+00f, 1.0e-01f, -2.5e+20f
// CHECK-NEXT: };
// CHECK:      /* constant 1: steps */
// CHECK-NEXT: static const uint64_t ccompiler_1_const_1[2] = {
// CHECK-NEXT:     18446744073709551615ull, 9223372036854775808ull
// CHECK:      ccompiler_1_0(in0, ccompiler_1_const_0, out0);
// CHECK:      memcpy(out1, ccompiler_1_const_1, sizeof(uint64_t) * 2);
func.func @constants(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xi64>) {
  %bias = graph.constant dense<[[1.0, -0.0], [0.1, -2.5e20]]> : tensor<2x2xf32>
  %steps = graph.constant dense<[-1, -9223372036854775808]> : tensor<2xi64>
  %0 = graph.add %a, %bias : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  func.return %0, %steps : tensor<2x2xf32>, tensor<2xi64>
}

// T3: an output that is an input, a value that is two outputs and an operand; nothing to allocate.
// CHECK-LABEL: @ccompiler_2
// CHECK:      static int32_t ccompiler_2_(const float *in0, const float *in1, float *out0, float *out1, float *out2)
// CHECK-NEXT: {
// CHECK-NEXT:     (void)in1;
// CHECK-NEXT:     ccompiler_2_0(in0, in0, out1);
// CHECK-NEXT:     memcpy(out0, in0, sizeof(float) * 3);
// CHECK-NEXT:     memcpy(out2, out1, sizeof(float) * 3);
// CHECK-NEXT:     return 0;
func.func @outputs(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = graph.add %a, %a : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %a, %0, %0 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @ccompiler_3
// CHECK:      CSOURCE_BINARY_OP_2D(ccompiler_3_0, +, 0, 4, float);
// CHECK:          float *buf_0 = (float *)malloc(1);
func.func @empty(%a: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %0 = graph.add %a, %a : tensor<0x4xf32>, tensor<0x4xf32> -> tensor<0x4xf32>
  %1 = graph.add %0, %a : tensor<0x4xf32>, tensor<0x4xf32> -> tensor<0x4xf32>
  func.return %1 : tensor<0x4xf32>
}
