// RUN: inarch-opt %s --split-input-file -t cblas | filecheck %s

// A product whose left operand is a transpose, with a bias and relu: one call; the bias is C's start.
func.func private @cblas_0(%x: tensor<5x3xf32>, %w: tensor<5x4xf32>, %b: tensor<4xf32>)
    -> tensor<3x4xf32> attributes {compiler = "cblas"} {
  %0 = graph.composite "cblas.matmul_add"(%x, %w, %b)
      : (tensor<5x3xf32>, tensor<5x4xf32>, tensor<4xf32>) -> tensor<3x4xf32> {
  ^bb0(%p: tensor<5x3xf32>, %q: tensor<5x4xf32>, %r: tensor<4xf32>):
    %t = graph.transpose %p perm = [1, 0] : tensor<5x3xf32> -> tensor<3x5xf32>
    %m = graph.matmul %t, %q : tensor<3x5xf32>, tensor<5x4xf32> -> tensor<3x4xf32>
    %s = graph.add %m, %r : tensor<3x4xf32>, tensor<4xf32> -> tensor<3x4xf32>
    %u = graph.relu %s : tensor<3x4xf32> -> tensor<3x4xf32>
    graph.yield %u : tensor<3x4xf32>
  }
  func.return %0 : tensor<3x4xf32>
}
// CHECK:      void scipy_cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
// CHECK-NOT:  scipy_cblas_dgemm
// CHECK:      int32_t cblas_0(void *self, DLTensor *args, int32_t n)
// CHECK:        if (n != 4) {
// CHECK:        const float *in0 = data_of(&args[0]); /* [5, 3] */
// CHECK:        float *out0 = data_of(&args[3]); /* [3, 4] */
// CHECK:        /* transpose, matmul, add, relu
// CHECK-SAME:   [3, 5] by [5, 4] */
// CHECK-NEXT:   for (int64_t i = 0; i < 3; i++) {
// CHECK-NEXT:     for (int64_t j = 0; j < 4; j++) {
// CHECK-NEXT:       out0[i * 4 + j] = in2[j];
// CHECK:        scipy_cblas_sgemm(ROW_MAJOR, TRANS, NO_TRANS, 3, 4, 5, 1.0f, in0, 3,
// CHECK-NEXT:                     in1, 4, 1.0f, out0, 4);
// CHECK-NEXT:   for (int64_t i = 0; i < 12; i++) {
// CHECK-NEXT:     out0[i] = out0[i] < 0.0f ? 0.0f : out0[i];
// CHECK:        return 0;

// -----

// A 1x1 convolution: one product for each image.
func.func private @cblas_0(%x: tensor<2x5x6x6xf64>, %w: tensor<7x5x1x1xf64>) -> tensor<2x7x6x6xf64>
    attributes {compiler = "cblas"} {
  %0 = graph.conv %x, %w strides = [1, 1] pads = [0, 0, 0, 0] dilations = [1, 1] groups = 1
      : tensor<2x5x6x6xf64>, tensor<7x5x1x1xf64> -> tensor<2x7x6x6xf64>
  func.return %0 : tensor<2x7x6x6xf64>
}
// CHECK:      for (int64_t i0 = 0; i0 < 2; i0++) {
// CHECK-NEXT:   scipy_cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 7, 36, 5, 1.0, in1, 5,
// CHECK-NEXT:                     in0 + i0 * 180, 36, 0.0, out0 + i0 * 252, 36);
// CHECK-NEXT: }

// -----

// A batch against one matrix is one tall product; what lies between two products is scratch memory.
func.func private @cblas_0(%x: tensor<2x3x5xf32>, %w: tensor<5x5xf32>) -> tensor<2x3x5xf32>
    attributes {compiler = "cblas"} {
  %0 = graph.matmul %x, %w : tensor<2x3x5xf32>, tensor<5x5xf32> -> tensor<2x3x5xf32>
  %1 = graph.matmul %0, %w : tensor<2x3x5xf32>, tensor<5x5xf32> -> tensor<2x3x5xf32>
  func.return %1 : tensor<2x3x5xf32>
}
// CHECK:      char *scratch = aligned_alloc(64, 128);
// CHECK:      float *t0 = (void *)(scratch + 0); /* [2, 3, 5] */
// CHECK:      scipy_cblas_sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 6, 5, 5, 1.0f, in0, 5,
// CHECK-NEXT:                   in1, 5, 0.0f, t0, 5);
// CHECK:      scipy_cblas_sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 6, 5, 5, 1.0f, t0, 5,
// CHECK-NEXT:                   in1, 5, 0.0f, out0, 5);
// CHECK-NEXT: free(scratch);

// -----

// A matrix by a vector is gemv: on the left, and on the right of a transposed matrix.
func.func private @cblas_0(%x: tensor<1x5xf64>, %w: tensor<5x7xf64>) -> tensor<1x7xf64>
    attributes {compiler = "cblas"} {
  %0 = graph.matmul %x, %w : tensor<1x5xf64>, tensor<5x7xf64> -> tensor<1x7xf64>
  func.return %0 : tensor<1x7xf64>
}
func.func private @cblas_1(%x: tensor<5x7xf64>, %v: tensor<5x1xf64>) -> tensor<7x1xf64>
    attributes {compiler = "cblas"} {
  %0 = graph.composite "cblas.matmul_transposed"(%x, %v)
      : (tensor<5x7xf64>, tensor<5x1xf64>) -> tensor<7x1xf64> {
  ^bb0(%p: tensor<5x7xf64>, %q: tensor<5x1xf64>):
    %t = graph.transpose %p perm = [1, 0] : tensor<5x7xf64> -> tensor<7x5xf64>
    %m = graph.matmul %t, %q : tensor<7x5xf64>, tensor<5x1xf64> -> tensor<7x1xf64>
    graph.yield %m : tensor<7x1xf64>
  }
  func.return %0 : tensor<7x1xf64>
}
// CHECK:     void scipy_cblas_dgemv(int order
// CHECK:       scipy_cblas_dgemv(ROW_MAJOR, TRANS, 5, 7, 1.0, in1, 7, in0, 1, 0.0, out0, 1);
// CHECK:       scipy_cblas_dgemv(ROW_MAJOR, TRANS, 5, 7, 1.0, in0, 7, in1, 1, 0.0, out0, 1);
