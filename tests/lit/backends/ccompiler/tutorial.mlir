// The tutorial's graph, ((in0 + in1) - in2) * in3 on 10x10 f32.
//
// T1, T2: macros with the dtype last, the subgraph, the wrapper, the exported symbol.
// RUN: inarch-opt %s -t ccompiler | filecheck %s
// T2: the prefix of symbols is an option; T6: the whole module is the input when nothing is marked.
// RUN: inarch-opt %s -t 'ccompiler{prefix=gcc}' | filecheck %s --check-prefix=GCC
// N5, N13: the same from the command that compiles models, and the IR after partitioning.
// RUN: inarch compile %s --emit=ccompiler | filecheck %s
// RUN: inarch compile %s --backend ccompiler --emit=graph | filecheck %s --check-prefix=IR

// CHECK:      #include "inarch.h"
// CHECK:      #define CSOURCE_BINARY_OP_1D(p_ID_, p_OP_, p_DIM1_, p_DTYPE_)
// CHECK:      #define CSOURCE_BINARY_OP_2D(p_ID_, p_OP_, p_DIM1_, p_DIM2_, p_DTYPE_)
// CHECK:      CSOURCE_BINARY_OP_2D(ccompiler_0_0, +, 10, 10, float);
// CHECK-NEXT: CSOURCE_BINARY_OP_2D(ccompiler_0_1, -, 10, 10, float);
// CHECK-NEXT: CSOURCE_BINARY_OP_2D(ccompiler_0_2, *, 10, 10, float);
// CHECK:      static int32_t ccompiler_0_(const float *in0, const float *in1, const float *in2, const float *in3, float *out0)
// CHECK:          float *buf_0 = (float *)malloc(sizeof(float) * 100);
// CHECK-NEXT:     float *buf_1 = (float *)malloc(sizeof(float) * 100);
// CHECK-NEXT:     if (buf_0 != NULL && buf_1 != NULL) {
// CHECK-NEXT:         ccompiler_0_0(in0, in1, buf_0);
// CHECK-NEXT:         ccompiler_0_1(buf_0, in2, buf_1);
// CHECK-NEXT:         ccompiler_0_2(buf_1, in3, out0);
// CHECK-NEXT:         status = 0;
// CHECK-NEXT:     }
// CHECK-NEXT:     free(buf_0);
// CHECK-NEXT:     free(buf_1);
// CHECK-NEXT:     return status;
// CHECK:      static int32_t ccompiler_0_wrapper_(DLTensor *in0, DLTensor *in1, DLTensor *in2, DLTensor *in3, DLTensor *out0)
// CHECK:          return ccompiler_0_(CSOURCE_DATA(float, in0), {{.*}}, CSOURCE_DATA(float, out0));
// CHECK:      CSOURCE_EXPORT int32_t ccompiler_0(void *self, DLTensor *args, int32_t n);
// CHECK:          if (n != 5) {
// CHECK-NEXT:         return 2;
// CHECK:          return ccompiler_0_wrapper_(&args[0], &args[1], &args[2], &args[3], &args[4]);

// GCC:      CSOURCE_BINARY_OP_2D(gcc_0_0, +, 10, 10, float);
// GCC:      static int32_t gcc_0_(
// GCC:      static int32_t gcc_0_wrapper_(
// GCC:      int32_t gcc_0(void *self, DLTensor *args, int32_t n)

// IR:      func.func @main
// IR:        graph.call @ccompiler_0(
// IR:      func.func private @ccompiler_0{{.*}} attributes {compiler = "ccompiler"}
// IR-NEXT:   graph.add
// IR-NEXT:   graph.sub
// IR-NEXT:   graph.mul
func.func @main(%a: tensor<10x10xf32>, %b: tensor<10x10xf32>, %c: tensor<10x10xf32>, %d: tensor<10x10xf32>) -> tensor<10x10xf32> {
  %0 = graph.add %a, %b : tensor<10x10xf32>, tensor<10x10xf32> -> tensor<10x10xf32>
  %1 = graph.sub %0, %c : tensor<10x10xf32>, tensor<10x10xf32> -> tensor<10x10xf32>
  %2 = graph.mul %1, %d : tensor<10x10xf32>, tensor<10x10xf32> -> tensor<10x10xf32>
  func.return %2 : tensor<10x10xf32>
}
