// RUN: inarch-opt %s -t c | filecheck %s

module attributes {inarch.name = "n"} {

// No parallel loop inside the reduction: a scalar; loops that run on in memory are one.
// CHECK-LABEL: void inarch_kernel_sums_rows(const float *__restrict x, float *__restrict y){{$}}
// CHECK-NEXT: {
// CHECK-NEXT:     /* (i = 3, k = 4 reduction, l = 5 reduction) ins(x[i, k, l]) outs(y[i]) */
// CHECK:          for (int64_t i = 0; i < 3; i++) {
// CHECK-NEXT:         float acc = 0.0f;
// CHECK-NEXT:         for (int64_t k_l = 0; k_l < 20; k_l++) {
// CHECK-NEXT:             acc += x[i * 20 + k_l];
// CHECK-NEXT:         }
// CHECK-NEXT:         y[i] = acc;
// CHECK-NEXT:     }
// CHECK-NEXT: }
func.func private @sums_rows(%x: memref<3x4x5xf32>, %y: memref<3xf32>) {
  loop.nest (i = 3, k = 4 reduction, l = 5 reduction) ins(%x[i, k, l] : memref<3x4x5xf32>) outs(%y[i] init 0.0 : memref<3xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  func.return
}

// Both sides of a choice are loaded: a side that is loaded alone is a jump, and no vector.
// CHECK-LABEL: void inarch_kernel_slopes(const float *__restrict x, const float *__restrict s, float *__restrict y){{$}}
// CHECK:          const float [[X:.*]] = x[i * 8 + j];
// CHECK-NEXT:     const float [[SLOPED:.*]] = [[X]] * s[j];
// CHECK-NEXT:     y[i * 8 + j] = ([[X]] < 0.0f) ? [[SLOPED]] : [[X]];
func.func private @slopes(%x: memref<3x8xf32>, %s: memref<8xf32>, %y: memref<3x8xf32>) {
  loop.nest (i = 3, j = 8) ins(%x[i, j] : memref<3x8xf32>, %s[j] : memref<8xf32>) outs(%y[i, j] : memref<3x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %zero = arith.constant 0.0 : f32
    %low = arith.cmpf olt, %a, %zero : f32
    %sloped = arith.mulf %a, %b : f32
    %r = arith.select %low, %sloped, %a : f32
    loop.yield %r : f32
  }
  func.return
}

// What is narrow only between two wide numbers is as wide as they are: else a vector is 32 points.
// CHECK-LABEL: void inarch_kernel_between(const float *__restrict x, float *__restrict y){{$}}
// CHECK:          y[i] = (float)((int32_t)inarch_f32_to_ui8(x[i]));
func.func private @between(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.nest (i = 8) ins(%x[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %n = arith.fptoui %a : f32 to i8
    %w = arith.extui %n : i8 to i32
    %r = arith.sitofp %w : i32 to f32
    loop.yield %r : f32
  }
  func.return
}

// A padded read is a condition on the dimension that can be left; a unit loop is none.
// CHECK-LABEL: void inarch_kernel_shifts(const float *__restrict x, float *__restrict y){{$}}
// CHECK:          for (int64_t i = 0; i < 8; i++) {
// CHECK-NEXT:         y[i] = i - 1 >= 0 ? x[i - 1] : (-1.5f);
// CHECK-NEXT:     }
func.func private @shifts(%x: memref<1x8xf32>, %y: memref<1x8xf32>) {
  loop.nest (b = 1, i = 8) ins(%x[b, i - 1] pad -1.5 : memref<1x8xf32>) outs(%y[b, i] : memref<1x8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

// A clipped write bounds its loop; all serial inside the reduction: an array of accumulators.
// CHECK-LABEL: void inarch_kernel_clips(const float *__restrict x, float *__restrict y){{$}}
// CHECK:          for (int64_t o = 0; o < 3; o++) {
// CHECK-NEXT:         float acc[4];
// CHECK-NEXT:         for (int64_t v = 0; v < 4; v++) {
// CHECK-NEXT:             acc[v] = 0.0f;
// CHECK-NEXT:         }
// CHECK-NEXT:         for (int64_t k = 0; k < 2; k++) {
// CHECK-NEXT:             for (int64_t v = 0; v < 4; v++) {
// CHECK-NEXT:                 acc[v] += x[o * 4 + k * 12 + v];
// CHECK-NEXT:             }
// CHECK-NEXT:         }
// CHECK-NEXT:         const int64_t v_end = (10 - o * 4) < 4 ? 10 - o * 4 : 4;
// CHECK-NEXT:         for (int64_t v = 0; v < v_end; v++) {
// CHECK-NEXT:             y[o * 4 + v] = acc[v];
// CHECK-NEXT:         }
// CHECK-NEXT:     }
func.func private @clips(%x: memref<2x12xf32>, %y: memref<10xf32>) {
  loop.nest (o = 3, k = 2 reduction, v = 4) ins(%x[k, o * 4 + v] : memref<2x12xf32>) outs(%y[o * 4 + v] init 0.0 clip : memref<10xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  func.return
}

// The body and finish of one point; exp is our own, and comes with the unit that calls it.
// CHECK-LABEL: void inarch_kernel_finishes(const float *__restrict x, const float *__restrict bias, float *__restrict y){{$}}
// CHECK:              y[i] = inarch_exp_f32(acc + bias[i]);
func.func private @finishes(%x: memref<3x4xf32>, %bias: memref<3xf32>, %y: memref<3xf32>) {
  loop.nest (i = 3, k = 4 reduction) ins(%x[i, k] : memref<3x4xf32>, %bias[i] : memref<3xf32>) outs(%y[i] init -inf : memref<3xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %s = arith.maximumf %acc, %a : f32
    loop.yield %s : f32
  } finish {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %s = arith.addf %acc, %b : f32
    %e = math.exp %s : f32
    loop.yield %e : f32
  }
  func.return
}
}
