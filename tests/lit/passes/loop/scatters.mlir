// RUN: inarch-opt %s --split-input-file -p fold-scalars,fuse-nests,rematerialize,drop-unit-iterators,tile-and-fuse,schedule-nests,materialize-padding,split-padding,split-dilation,drop-padding-taps | filecheck %s
// RUN: inarch-opt %s --split-input-file -p update-in-place | filecheck %s --check-prefix=PLACE
// RUN: inarch-opt %s --split-input-file -p parallelize | filecheck %s --check-prefix=SHARE
// RUN: inarch-opt %s --split-input-file -p tensorize | filecheck %s --check-prefix=KERNEL
// RUN: inarch-opt %s --split-input-file -p outline-nests | filecheck %s --check-prefix=OUTLINE
// RUN: inarch-opt %s --split-input-file -p fold-scalars,fuse-nests,rematerialize,drop-unit-iterators,schedule-nests,materialize-padding,split-padding,update-in-place,parallelize --verify-semantics -o %t

// A number moves into the body and others move up, but an index stays an index: outside, it names no element.
// CHECK-LABEL: @known_indices
// OUTLINE-LABEL: @known_indices
// OUTLINE: loop.call @scatter_8x64_{{[0-9a-f]+}}
func.func @known_indices(%ids: memref<8xi64>, %x: memref<8x64xf32>, %y: memref<9x7x64xf32> {inarch.result}) {
  %two = loop.constant dense<2.0> : tensor<f32> : memref<f32>
  %far = loop.constant dense<99> : tensor<1xi32> : memref<1xi32>
  loop.nest (i = 8 scan, j = 64) ins(%two[] : memref<f32>, %ids[i] : memref<8xi64>, %x[i, j] : memref<8x64xf32>, %far[0] : memref<1xi32>) outs(%y[at(1), at(3), j] : memref<9x7x64xf32>) {
  ^bb0(%c: f32, %k: i64, %e: f32, %l: i32, %o: f32):
    %s = arith.mulf %e, %c : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (i = 8 scan, j = 64) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x64xf32>, %far[0] : memref<1xi32>) outs(%y[at(0), at(2), j] : memref<9x7x64xf32>) {

// -----

// One that writes a buffer stands between who fills it and who reads it: nothing is fused across, and no
// kernel takes it. What is written is computed in vectors, in a nest of its own.
// CHECK-LABEL: @between
// KERNEL-LABEL: @between
// KERNEL: loop.nest (i = 8 scan, j = 64)
func.func @between(%ids: memref<8xi64>, %x: memref<8x64xf32>, %d: memref<9x64xf32>, %y: memref<9x64xf32> {inarch.result}) {
  %t = loop.alloc : memref<9x64xf32>
  %u = loop.alloc : memref<8x64xf32>
  loop.nest (i = 9, j = 64) ins(%d[i, j] : memref<9x64xf32>) outs(%t[i, j] : memref<9x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8, j = 64) ins(%x[i, j] : memref<8x64xf32>) outs(%u[i, j] : memref<8x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = math.exp %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8 scan, j = 64) ins(%ids[i] : memref<8xi64>, %u[i, j] : memref<8x64xf32>) outs(%t[at(0), j] : memref<9x64xf32>) {
  ^bb0(%k: i64, %e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 9, j = 64) ins(%t[i, j] : memref<9x64xf32>) outs(%y[i, j] : memref<9x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.mulf %e, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: arith.negf
// CHECK: math.exp
// CHECK: loop.nest (i = 8 scan, j = 64) ins(%ids[i] : memref<8xi64>, %u[i, j] : memref<8x64xf32>) outs(%t[at(0), j] : memref<9x64xf32>) {
// CHECK: arith.addf
// CHECK: arith.mulf

// -----

// Two that write rows of a buffer are no whole of it, however many rows they are.
// CHECK-LABEL: @no_parts
func.func @no_parts(%ids: memref<4xi64>, %x: memref<4x64xf32>, %y: memref<8x64xf32> {inarch.result}, %z: memref<8x64xf32> {inarch.result}) {
  loop.nest (i = 4, j = 64) ins(%x[i, j] : memref<4x64xf32>) outs(%y[i + 4, j] : memref<8x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 4 scan, j = 64) ins(%ids[i] : memref<4xi64>, %x[i, j] : memref<4x64xf32>) outs(%y[at(0), j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8, j = 64) ins(%y[i, j] : memref<8x64xf32>) outs(%z[i, j] : memref<8x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = math.exp %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (i = 4, j = 64)
// CHECK: loop.nest (i = 4 scan, j = 64)
// CHECK: math.exp

// -----

// A copy of what nobody needs any more goes away: the buffer is written in place. One that is needed stays.
// PLACE-LABEL: @in_place
func.func @in_place(%ids: memref<8xi64>, %x: memref<8x64xf32>, %d: memref<9x64xf32>, %y: memref<9x64xf32> {inarch.result}) {
  %t = loop.alloc : memref<9x64xf32>
  loop.nest (i = 9, j = 64) ins(%d[i, j] : memref<9x64xf32>) outs(%t[i, j] : memref<9x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 9, j = 64) ins(%t[i, j] : memref<9x64xf32>) outs(%y[i, j] : memref<9x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8 scan, j = 64) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x64xf32>) outs(%y[at(0), j] : memref<9x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
// PLACE-NEXT: loop.nest (i = 9, j = 64) ins(%d[i, j] : memref<9x64xf32>) outs(%y[i, j] : memref<9x64xf32>) {
// PLACE-NEXT: ^bb0
// PLACE-NEXT: arith.negf
// PLACE-NEXT: loop.yield
// PLACE-NEXT: }
// PLACE-NEXT: loop.nest (i = 8 scan, j = 64)

// -----

// PLACE-LABEL: @not_in_place
func.func @not_in_place(%ids: memref<9xi64>, %d: memref<9xf32>, %y: memref<9xf32> {inarch.result}) {
  %t = loop.alloc : memref<9xf32>
  loop.nest (i = 9) ins(%d[i] : memref<9xf32>) outs(%t[i] : memref<9xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = arith.negf %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 9) ins(%t[i] : memref<9xf32>) outs(%y[i] : memref<9xf32>) {
  ^bb0(%e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 9 scan) ins(%ids[i] : memref<9xi64>, %t[i] : memref<9xf32>) outs(%y[at(0)] : memref<9xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
// PLACE: loop.nest (i = 9) ins(%t[i] : memref<9xf32>) outs(%y[i] : memref<9xf32>)
// PLACE: loop.nest (i = 9 scan)

// -----

// Rows that are apart are shared among threads; those that may meet are not, whatever they take.
// SHARE-LABEL: @shared
func.func @shared(%ids: memref<512x2048xi64>, %x: memref<512x2048xf32>, %y: memref<512x4096xf32> {inarch.result}, %z: memref<4096xf32> {inarch.result}) {
  loop.nest (i = 512, k = 2048 scan) ins(%ids[i, k] : memref<512x2048xi64>, %x[i, k] : memref<512x2048xf32>) outs(%y[i, at(0)] : memref<512x4096xf32>) {
  ^bb0(%n: i64, %e: f32, %acc: f32):
    %f = math.exp %e : f32
    %s = arith.addf %acc, %f : f32
    loop.yield %s : f32
  }
  func.return
}
// SHARE: loop.nest (i = 512 parallel, k = 2048 scan)

// -----

// The border of a padded index: nothing is known of where it writes.
// CHECK-LABEL: @padded_index
func.func @padded_index(%ids: memref<8xi64>, %y: memref<12x9xf32> {inarch.result}) {
  loop.nest (i = 12) ins(%ids[i - 2] pad -1 : memref<8xi64>) outs(%y[i, at(0)] : memref<12x9xf32>) {
  ^bb0(%k: i64, %o: f32):
    %one = arith.constant 1.0 : f32
    loop.yield %one : f32
  }
  func.return
}
// CHECK: outs(%y[i, at(0)] : memref<12x9xf32>)

// -----

// What rows that are anywhere write are no zeros to rely on.
// CHECK-LABEL: @no_zeros
func.func @no_zeros(%ids: memref<2xi64>, %x: memref<2xf32>, %w: memref<3xf32>, %y: memref<10xf32> {inarch.result}) {
  %t = loop.alloc : memref<12xf32>
  loop.nest (i = 12) outs(%t[i] : memref<12xf32>) {
  ^bb0(%o: f32):
    %zero = arith.constant 0.0 : f32
    loop.yield %zero : f32
  }
  loop.nest (i = 2 scan) ins(%ids[i] : memref<2xi64>, %x[i] : memref<2xf32>) outs(%t[at(0)] : memref<12xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (p = 10, r = 3 reduction) ins(%t[p + r] : memref<12xf32>, %w[r] : memref<3xf32>) outs(%y[p] init 0.0 : memref<10xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (r = 3 reduction, p = 10)
