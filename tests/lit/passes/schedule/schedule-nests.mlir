// RUN: inarch-opt %s --split-input-file -p schedule-nests | filecheck %s

// 28 rows are two tiles of 14; 64 columns are two tiles of 2 x 16 lanes; constant weights are packed.
builtin.module attributes {inarch.target = "x86-64-v4"} {
  // CHECK-LABEL: @packs_constant_weights
  func.func @packs_constant_weights(%a: memref<28x8xf32>, %c: memref<28x64xf32>) {
    %b = loop.constant dense<1.0> : tensor<8x64xf32> : memref<8x64xf32>
    loop.nest (m = 28, n = 64, k = 8 reduction) ins(%a[m, k] : memref<28x8xf32>, %b[k, n] : memref<8x64xf32>) outs(%c[m, n] init 0.0 : memref<28x64xf32>) {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %p : f32
      loop.yield %s : f32
    }
    func.return
  }
  // CHECK:      %[[PACKED:.*]] = loop.alloc : memref<2x8x2x16xf32>
  // CHECK-NEXT: kernel.pack %b[d1, d0 * 32 + d2 * 16 + d3] to %[[PACKED]]
  // CHECK-NEXT: loop.nest (n_o = 2, m_o = 2, k = 8 reduction, m_i = 14 unroll, n_v = 2 unroll, n_l = 16 vector)
  // CHECK-SAME: ins(%a[m_o * 14 + m_i, k] : memref<28x8xf32>, %[[PACKED]][n_o, k, n_v, n_l] : memref<2x8x2x16xf32>)
  // CHECK-SAME: outs(%c[m_o * 14 + m_i, n_o * 32 + n_v * 16 + n_l] init 0.0 : memref<28x64xf32>)
  // CHECK-NOT:  loop.nest
}

// -----

// 20 columns do not fill their lanes: the packed factor has zeros there, the output is clipped, and the
// bias, which finish reads at the columns, gets a pad. The rows that are left over are a nest of their own.
builtin.module attributes {inarch.target = "x86-64-v4"} {
  // CHECK-LABEL: @clips_columns_and_cuts_rows
  func.func @clips_columns_and_cuts_rows(%a: memref<17x8xf32>, %bias: memref<20xf32>, %c: memref<17x20xf32>) {
    %b = loop.constant dense<1.0> : tensor<8x20xf32> : memref<8x20xf32>
    loop.nest (m = 17, n = 20, k = 8 reduction) ins(%a[m, k] : memref<17x8xf32>, %b[k, n] : memref<8x20xf32>, %bias[n] : memref<20xf32>) outs(%c[m, n] init 0.0 : memref<17x20xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32, %acc: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %p : f32
      loop.yield %s : f32
    } finish {
    ^bb0(%x: f32, %y: f32, %z: f32, %acc: f32):
      %s = arith.addf %acc, %z : f32
      loop.yield %s : f32
    }
    func.return
  }
  // CHECK:      loop.nest (n_o = 1, m_o = 1, k = 8 reduction, m_i = [[FULL:[0-9]+]] unroll, n_v = 2 unroll, n_l = 16 vector)
  // CHECK-SAME: %bias[n_o * 32 + n_v * 16 + n_l] pad 0.0
  // CHECK-SAME: outs(%c[m_o * [[FULL]] + m_i, n_o * 32 + n_v * 16 + n_l] init 0.0 clip : memref<17x20xf32>)
  // CHECK:      loop.nest (n_o = 1, m_o = 1, k = 8 reduction, m_i = {{[0-9]+}} unroll, n_v = 2 unroll, n_l = 16 vector)
  // CHECK-SAME: outs(%c[m_o * {{[0-9]+}} + m_i + [[FULL]],
}

// -----

// A factor that lies in order is read as it is: nothing is packed at run time.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  // CHECK-LABEL: @reads_in_order
  func.func @reads_in_order(%a: memref<4x8xf32>, %b: memref<8x16xf32>, %c: memref<4x16xf32>) {
    loop.nest (m = 4, n = 16, k = 8 reduction) ins(%a[m, k] : memref<4x8xf32>, %b[k, n] : memref<8x16xf32>) outs(%c[m, n] init 0.0 : memref<4x16xf32>) {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %p = arith.mulf %y, %x : f32
      %s = arith.addf %p, %acc : f32
      loop.yield %s : f32
    }
    func.return
  }
  // CHECK-NOT: kernel.pack
  // CHECK: n_l = 8 vector) ins(%a[{{.*}}] : memref<4x8xf32>, %b[k, n_o * {{.*}} + n_l] : memref<8x16xf32>)
}

// -----

// Pooling runs along the row: its contiguous output iterator goes inside the window.
// CHECK-LABEL: @pooling_runs_along_the_row
func.func @pooling_runs_along_the_row(%x: memref<2x9x9xf32>, %y: memref<2x7x7xf32>) {
  loop.nest (c = 2, oh = 7, ow = 7, kh = 3 reduction, kw = 3 reduction) ins(%x[c, oh + kh, ow + kw] : memref<2x9x9xf32>) outs(%y[c, oh, ow] init -inf : memref<2x7x7xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.maximumf %a, %acc : f32
    loop.yield %m : f32
  }
  func.return
}
// CHECK: loop.nest (c = 2, oh = 7, kh = 3 reduction, kw = 3 reduction, ow = 7)

// -----

// A sum over the last axis has nothing contiguous to run along.
// CHECK-LABEL: @keeps_a_sum_over_the_last_axis
func.func @keeps_a_sum_over_the_last_axis(%x: memref<7x9xf32>, %y: memref<7xf32>) {
  loop.nest (i = 7, r = 9 reduction) ins(%x[i, r] : memref<7x9xf32>) outs(%y[i] init 0.0 : memref<7xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (i = 7, r = 9 reduction)

// -----

// Blocked output channels: the columns are blocks (four) of a vector, of which a tile takes several.
builtin.module attributes {inarch.target = "x86-64-v4"} {
  // CHECK-LABEL: @columns_in_blocks
  func.func @columns_in_blocks(%x: memref<2x28x16xf32>, %y: memref<4x28x16xf32>) {
    %w = loop.constant dense<1.0> : tensor<64x32xf32> : memref<64x32xf32>
    loop.nest (o = 4, p = 28, oi = 16, c = 2 reduction, ci = 16 reduction) ins(%x[c, p, ci] : memref<2x28x16xf32>, %w[o * 16 + oi, c * 16 + ci] : memref<64x32xf32>) outs(%y[o, p, oi] init 0.0 : memref<4x28x16xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      loop.yield %s : f32
    }
    func.return
  }
  // CHECK:      kernel.pack %w[d0 * 32 + d3 * 16 + d4, d1 * 16 + d2] to %[[PACKED:.*]][d0, d1, d2, d3, d4] : memref<64x32xf32>, memref<2x2x16x2x16xf32>
  // CHECK-NEXT: loop.nest (oi_o = 2, p_o = 2, c = 2 reduction, ci = 16 reduction, p_i = 14 unroll, oi_v = 2 unroll, oi_l = 16 vector)
  // CHECK-SAME: outs(%y[oi_o * 2 + oi_v, p_o * 14 + p_i, oi_l] init 0.0 : memref<4x28x16xf32>)
}

// -----

// Depthwise on blocked channels: a lane is a channel, several pixels are in registers at once, those
// left over are a nest of their own, and constant weights are packed as they are read.
builtin.module attributes {inarch.target = "x86-64-v3"} {
  // CHECK-LABEL: @lanes
  func.func @lanes(%x: memref<2x15x8xf32>, %y: memref<2x13x8xf32>) {
    %w = loop.constant dense<1.0> : tensor<16x3xf32> : memref<16x3xf32>
    loop.nest (g = 2, p = 13, gi = 8, k = 3 reduction) ins(%x[g, p + k, gi] : memref<2x15x8xf32>, %w[g * 8 + gi, k] : memref<16x3xf32>) outs(%y[g, p, gi] init 0.0 : memref<2x13x8xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %acc, %p : f32
      loop.yield %s : f32
    }
    func.return
  }
  // CHECK:      kernel.pack %w[d0 * 8 + d2, d1] to %[[PACKED:.*]][d0, d1, d2] : memref<16x3xf32>, memref<2x3x8xf32>
  // CHECK-NEXT: loop.nest (g = 2, p_o = 1, k = 3 reduction, p_i = 8 unroll, gi = 8 vector) ins(%x[g, p_o * 8 + k + p_i, gi] : memref<2x15x8xf32>, %[[PACKED]][g, k, gi] : memref<2x3x8xf32>)
  // CHECK:      loop.nest (g = 2, p_o = 1, k = 3 reduction, p_i = 5 unroll, gi = 8 vector)
}
