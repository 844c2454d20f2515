// RUN: inarch-opt %s --split-input-file -p pad-planes | filecheck %s
// RUN: inarch-opt %s --split-input-file -p pad-planes --verify-semantics -o %t
// RUN: inarch-opt %s --split-input-file -p pad-planes --verify-diagnostics --remarks -o %t

// Nine planes of 4096 bytes share each set of eight lines: of 65 lines they do not.
// CHECK-LABEL: @planes
func.func @planes(%x: memref<16x64xf32>, %y: memref<16x64xf32>) {
  // expected-remark @below {{[pad-planes] 64 bytes more in each plane of 4096}}
  %v = loop.alloc : memref<3x3x16x64xf32>
  loop.nest (t = 3, u = 3, i = 16, j = 64) ins(%x[i, j] : memref<16x64xf32>) outs(%v[t, u, i, j] : memref<3x3x16x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 16, j = 64) ins(%v[0, 0, i, j] : memref<3x3x16x64xf32>, %v[0, 1, i, j] : memref<3x3x16x64xf32>, %v[0, 2, i, j] : memref<3x3x16x64xf32>, %v[1, 0, i, j] : memref<3x3x16x64xf32>, %v[1, 1, i, j] : memref<3x3x16x64xf32>, %v[1, 2, i, j] : memref<3x3x16x64xf32>, %v[2, 0, i, j] : memref<3x3x16x64xf32>, %v[2, 1, i, j] : memref<3x3x16x64xf32>, %v[2, 2, -i + 15, j] : memref<3x3x16x64xf32>, %v[2, 2, i, j] : memref<3x3x16x64xf32>) outs(%y[i, j] : memref<16x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32, %f: f32, %g: f32, %h: f32, %k: f32, %l: f32, %o: f32):
    %s = arith.addf %a, %l : f32
    %t = arith.addf %s, %k : f32
    loop.yield %t : f32
  }
  func.return
}
// CHECK-NEXT: %v = loop.alloc : memref<3x3x1040xf32>
// CHECK-NEXT: outs(%v[t, u, i * 64 + j] : memref<3x3x1040xf32>)
// CHECK:      ins(%v[0, 0, i * 64 + j] : memref<3x3x1040xf32>
// CHECK-SAME: %v[2, 2, -i * 64 + j + 960] : memref<3x3x1040xf32>

// -----

// Eight planes have room, and so have nine of an odd number of lines.
// CHECK-LABEL: @planes_that_stay
func.func @planes_that_stay(%y: memref<1024xf32>, %z: memref<1040xf32>) {
  %v = loop.alloc : memref<8x1024xf32>
  %w = loop.alloc : memref<9x1040xf32>
  loop.nest (j = 1024) outs(%v[0, j] init 0.0 : memref<8x1024xf32>, %v[1, j] init 0.0 : memref<8x1024xf32>, %v[2, j] init 0.0 : memref<8x1024xf32>, %v[3, j] init 0.0 : memref<8x1024xf32>, %v[4, j] init 0.0 : memref<8x1024xf32>, %v[5, j] init 0.0 : memref<8x1024xf32>, %v[6, j] init 0.0 : memref<8x1024xf32>, %v[7, j] init 0.0 : memref<8x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32, %f: f32, %g: f32, %h: f32):
    loop.yield %a, %a, %a, %a, %a, %a, %a, %a : f32, f32, f32, f32, f32, f32, f32, f32
  }
  loop.nest (j = 1040) outs(%w[0, j] init 0.0 : memref<9x1040xf32>, %w[1, j] init 0.0 : memref<9x1040xf32>, %w[2, j] init 0.0 : memref<9x1040xf32>, %w[3, j] init 0.0 : memref<9x1040xf32>, %w[4, j] init 0.0 : memref<9x1040xf32>, %w[5, j] init 0.0 : memref<9x1040xf32>, %w[6, j] init 0.0 : memref<9x1040xf32>, %w[7, j] init 0.0 : memref<9x1040xf32>, %w[8, j] init 0.0 : memref<9x1040xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %e: f32, %f: f32, %g: f32, %h: f32, %k: f32):
    loop.yield %a, %a, %a, %a, %a, %a, %a, %a, %a : f32, f32, f32, f32, f32, f32, f32, f32, f32
  }
  func.return
}
// CHECK-NEXT: loop.alloc : memref<8x1024xf32>
// CHECK-NEXT: loop.alloc : memref<9x1040xf32>
