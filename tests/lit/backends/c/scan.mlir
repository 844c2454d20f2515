// RUN: inarch-opt %s -t c | filecheck %s

module attributes {inarch.name = "n"} {

// A scan is no reduction of all its rows, though they run on in memory.
// CHECK-LABEL: void inarch_kernel_rows(const float *__restrict x, float *__restrict y){{$}}
// CHECK-NEXT: {
// CHECK-NEXT:     /* (i = 3, k = 5 scan) ins(x[i, k]) outs(y[i, k]) */
// CHECK-NEXT:     for (int64_t i = 0; i < 3; i++) {
// CHECK-NEXT:         float acc = 0.0f;
// CHECK-NEXT:         for (int64_t k = 0; k < 5; k++) {
// CHECK-NEXT:             acc += x[i * 5 + k];
// CHECK-NEXT:             y[i * 5 + k] = acc;
// CHECK-NEXT:         }
// CHECK-NEXT:     }
// CHECK-NEXT: }
func.func private @rows(%x: memref<3x5xf32>, %y: memref<3x5xf32>) {
  loop.nest (i = 3, k = 5 scan) ins(%x[i, k] : memref<3x5xf32>) outs(%y[i, k] init 0.0 : memref<3x5xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  func.return
}

// Unrolled loops inside are chains of their own; `finish` is written, and the accumulator goes on without it.
// CHECK-LABEL: void inarch_kernel_chains(
// CHECK:          for (int64_t i = 0; i < 3; i++) {
// CHECK-NEXT:         float acc = 1.0f;
// CHECK-NEXT:         float acc_1 = 1.0f;
// CHECK-NEXT:         for (int64_t k = 0; k < 5; k++) {
// CHECK-NEXT:             acc *= x[i * 10 - k + 4];
// CHECK-NEXT:             y[i * 10 - k + 4] = -acc;
// CHECK-NEXT:             acc_1 *= x[i * 10 - k + 9];
// CHECK-NEXT:             y[i * 10 - k + 9] = -acc_1;
// CHECK-NEXT:         }
// CHECK-NEXT:     }
func.func private @chains(%x: memref<6x5xf32>, %y: memref<6x5xf32>) {
  loop.nest (i = 3, k = 5 scan, j = 2 unroll) ins(%x[i * 2 + j, -k + 4] : memref<6x5xf32>) outs(%y[i * 2 + j, -k + 4] init 1.0 : memref<6x5xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %p = arith.mulf %acc, %a : f32
    loop.yield %p : f32
  } finish {
  ^bb0(%a: f32, %acc: f32):
    %n = arith.negf %acc : f32
    loop.yield %n : f32
  }
  func.return
}

// Serial loops inside have an array of accumulators, along which they run: to add, then to store, where rows
// follow each other.
// CHECK-LABEL: void inarch_kernel_columns(
// CHECK:          int32_t acc[6];
// CHECK-NEXT:     for (int64_t i_j = 0; i_j < 6; i_j++) {
// CHECK-NEXT:         acc[i_j] = 0;
// CHECK-NEXT:     }
// CHECK-NEXT:     for (int64_t k = 0; k < 5; k++) {
// CHECK-NEXT:         for (int64_t i_j = 0; i_j < 6; i_j++) {
// CHECK-NEXT:             acc[i_j] = {{.*}}acc[i_j]{{.*}}x[k * 6 + i_j]{{.*}};
// CHECK-NEXT:         }
// CHECK-NEXT:         for (int64_t i_j = 0; i_j < 6; i_j++) {
// CHECK-NEXT:             y[k * 6 + i_j] = acc[i_j];
// CHECK-NEXT:         }
// CHECK-NEXT:     }
func.func private @columns(%x: memref<5x2x3xi32>, %y: memref<5x2x3xi32>) {
  loop.nest (k = 5 scan, i = 2, j = 3) ins(%x[k, i, j] : memref<5x2x3xi32>) outs(%y[k, i, j] init 0 : memref<5x2x3xi32>) {
  ^bb0(%a: i32, %acc: i32):
    %s = arith.addi %acc, %a : i32
    loop.yield %s : i32
  }
  func.return
}

// Of longer rows a strip is added and stored at once.
// CHECK-LABEL: void inarch_kernel_strips(
// CHECK:          for (int64_t k = 0; k < 5; k++) {
// CHECK-NEXT:         for (int64_t j = 0; j < 3; j++) {
// CHECK-NEXT:             acc[j] += x[i * 3 + k * 6 + j];
// CHECK-NEXT:             y[i * 3 + k * 6 + j] = acc[j];
// CHECK-NEXT:         }
// CHECK-NEXT:     }
func.func private @strips(%x: memref<5x6xf32>, %y: memref<5x6xf32>) {
  loop.nest (i = 2, k = 5 scan, j = 3) ins(%x[k, i * 3 + j] : memref<5x6xf32>) outs(%y[k, i * 3 + j] init 0.0 : memref<5x6xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  func.return
}

// Of one point there is no loop, and nothing to carry; of none there is nothing to write.
// CHECK-LABEL: void inarch_kernel_one(
// CHECK:          for (int64_t i = 0; i < 3; i++) {
// CHECK-NEXT:         y[i] = 0.5f + x[i];
// CHECK-NEXT:     }
func.func private @one(%x: memref<3x1xf32>, %y: memref<3x1xf32>) {
  loop.nest (i = 3, k = 1 scan) ins(%x[i, k] : memref<3x1xf32>) outs(%y[i, k] init 0.5 : memref<3x1xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: void inarch_kernel_none(
// CHECK:          /* no points */
func.func private @none(%x: memref<3x0xf32>, %y: memref<3x0xf32>) {
  loop.nest (i = 3, k = 0 scan) ins(%x[i, k] : memref<3x0xf32>) outs(%y[i, k] init 0.5 : memref<3x0xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  func.return
}

// Two outputs; what reads an element that is written reads it first.
// CHECK-LABEL: void inarch_kernel_two(
// CHECK:          for (int64_t k = 0; k < 5; k++) {
// CHECK-NEXT:         const float next = acc + x[k];
// CHECK-NEXT:         const float next_1 = acc_1 + acc;
// CHECK-NEXT:         acc = next;
// CHECK-NEXT:         acc_1 = next_1;
// CHECK-NEXT:         const float next_2 = acc;
// CHECK-NEXT:         const float next_3 = acc_1;
// CHECK-NEXT:         y[k] = next_2;
// CHECK-NEXT:         z[k] = next_3;
// CHECK-NEXT:     }
func.func private @two(%x: memref<5xf32>, %y: memref<5xf32>, %z: memref<5xf32>) {
  loop.nest (k = 5 scan) ins(%x[k] : memref<5xf32>) outs(%y[k] init 0.0 : memref<5xf32>, %z[k] init 0.0 : memref<5xf32>) {
  ^bb0(%a: f32, %p: f32, %q: f32):
    %s = arith.addf %p, %a : f32
    %t = arith.addf %q, %p : f32
    loop.yield %s, %t : f32, f32
  }
  func.return
}

}
