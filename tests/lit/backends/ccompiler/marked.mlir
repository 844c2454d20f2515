// Functions that are marked for it are the backend's; the rest of the module is the host's.
// RUN: inarch-opt %s -t ccompiler | filecheck %s
// RUN: inarch compile %s --emit=c | filecheck %s --check-prefix=HOST

// CHECK-NOT: @main
// CHECK:     @sums_0
// CHECK-NOT: relu

// T16: the host calls it through a slot that is filled when the library is linked.
// HOST:      /* Defined by the C of the backend ccompiler. */
// HOST-NEXT: INARCH_C int32_t sums_0(void *self, DLTensor *args, int32_t n);
// HOST:      static inarch_import inarch_imports[1] = {{[{][{]}}sums_0, NULL}};
// HOST:      inarch_call_import(0, args, 2)
// HOST:          INARCH_CPU,
// HOST-NEXT:     1,
// HOST-NEXT:     0,
// HOST-NEXT:     sizeof(inarch_function),
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.call @sums_0(%a) : tensor<4xf32> -> tensor<4xf32>
  %1 = graph.relu %0 : tensor<4xf32> -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func private @sums_0(%a: tensor<4xf32>) -> tensor<4xf32> attributes {compiler = "ccompiler"} {
  %0 = graph.add %a, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
