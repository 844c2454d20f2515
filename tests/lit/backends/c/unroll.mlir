// RUN: inarch-opt %s --verify-semantics -t c | filecheck %s

// A loop that is unrolled is copies of its body, each with its number; one inside of another one, too.
func.func @main(%a: memref<8xf32>, %b: memref<8xf32> {inarch.result}) {
  loop.for %i = 1 to 6 step 4 unroll {
    loop.for %j = -1 to 1 unroll {
      %n = arith.addi %i, %j : index
      %x = memref.load %a[%n] : memref<8xf32>
      memref.store %x, %b[%n] : memref<8xf32>
      loop.yield
    }
    loop.yield
  }
  loop.for %k = 0 to 0 unroll {
    loop.yield
  }
  func.return
}

// CHECK: int32_t model_main_run
// CHECK-NOT: for (
// CHECK: const int64_t i = 1;
// CHECK: const int64_t j = -1;
// CHECK-NEXT: const int64_t n = i + j;
// CHECK-NEXT: const float x = a[n];
// CHECK-NEXT: b[n] = x;
// CHECK: const int64_t j = 0;
// CHECK: b[n] = x;
// CHECK: const int64_t i = 5;
// CHECK: const int64_t j = -1;
// CHECK: const int64_t j = 0;
// CHECK-NOT: for (
// CHECK: return 0;
