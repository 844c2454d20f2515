// RUN: inarch-opt %s --split-input-file -p fold-scalars,rematerialize,drop-unit-iterators,schedule-nests,materialize-padding,split-padding,split-dilation,drop-padding-taps | filecheck %s
// RUN: inarch-opt %s --split-input-file -p update-in-place | filecheck %s --check-prefix=PLACE
// RUN: inarch-opt %s --split-input-file -p parallelize | filecheck %s --check-prefix=SHARE
// RUN: inarch-opt %s --split-input-file -p tensorize | filecheck %s --check-prefix=KERNEL
// RUN: inarch-opt %s --split-input-file -p outline-nests | filecheck %s --check-prefix=OUTLINE
// RUN: inarch-opt %s --split-input-file -p fold-scalars,rematerialize,drop-unit-iterators,schedule-nests,materialize-padding,update-in-place,parallelize --verify-semantics -o %t

// An index that is one known number is a place; others move up. Out of range, it is the nearest element.
// CHECK-LABEL: @known_indices
func.func @known_indices(%ids: memref<8xi64>, %t: memref<9x7x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %last = loop.constant dense<-1> : tensor<i64> : memref<i64>
  %far = loop.constant dense<99> : tensor<1xi32> : memref<1xi32>
  loop.nest (i = 8, j = 64) ins(%last[] : memref<i64>, %ids[i] : memref<8xi64>, %t[at(1), at(0), j] : memref<9x7x64xf32>, %far[0] : memref<1xi32>, %t[at(3), at(1), j] : memref<9x7x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %l: i64, %e: f32, %m: i32, %f: f32, %o: f32):
    %s = arith.subf %e, %f : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), 6, j] : memref<9x7x64xf32>, %t[8, at(0), j] : memref<9x7x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %[[E:.*]]: f32, %[[F:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:   arith.subf %[[E]], %[[F]] : f32

// -----

// A loop of one iteration goes from the index, too. What is left is a row: a copy.
// CHECK-LABEL: @one_row
// OUTLINE-LABEL: @one_row
// OUTLINE: loop.call @gather_1x64_{{[0-9a-f]+}}(%ids, %t, %y)
func.func @one_row(%ids: memref<1xi64>, %t: memref<100x64xf32>, %y: memref<1x64xf32> {inarch.result}) {
  loop.nest (i = 1, j = 64) ins(%ids[i] : memref<1xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%y[i, j] : memref<1x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (j = 64) ins(%ids[0] : memref<1xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%y[0, j] : memref<1x64xf32>) {

// -----

// A sum of rows runs along the row; no kernel does it, and no pass takes it for a convolution.
// CHECK-LABEL: @bags
// KERNEL-LABEL: @bags
// KERNEL: loop.nest
// KERNEL-NOT: kernel.call
func.func @bags(%ids: memref<8x4xi64>, %w: memref<8x4xf32>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  loop.nest (b = 8, j = 64, k = 4 reduction) ins(%ids[b, k] : memref<8x4xi64>, %t[at(0), j] : memref<100x64xf32>, %w[b, k] : memref<8x4xf32>) outs(%y[b, j] init 0.0 : memref<8x64xf32>) {
  ^bb0(%i: i64, %e: f32, %f: f32, %acc: f32):
    %p = arith.mulf %e, %f : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (b = 8, k = 4 reduction, j = 64) ins(%ids[b, k] : memref<8x4xi64>, %t[at(0), j] : memref<100x64xf32>

// -----

// A sum of columns that are anywhere does not: nothing follows along the row.
// CHECK-LABEL: @columns
func.func @columns(%ids: memref<64xi64>, %t: memref<4x100xf32>, %y: memref<64xf32> {inarch.result}) {
  loop.nest (j = 64, k = 4 reduction) ins(%t[k, at(1)] : memref<4x100xf32>, %ids[63 - j] : memref<64xi64>) outs(%y[j] init 0.0 : memref<64xf32>) {
  ^bb0(%e: f32, %i: i64, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (j = 64, k = 4 reduction)

// -----

// An index that is padded is copied with its padding, and stays the index.
// CHECK-LABEL: @padded_index
func.func @padded_index(%ids: memref<4xi64>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  loop.nest (b = 8, k = 3 reduction, j = 64) ins(%t[at(1), j] : memref<100x64xf32>, %ids[b + k - 3] pad 7 : memref<4xi64>) outs(%y[b, j] init 0.0 : memref<8x64xf32>) {
  ^bb0(%e: f32, %i: i64, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: %[[P:.*]] = loop.alloc : memref<10xi64>
// CHECK: loop.nest (b = 8, k = 3 reduction, j = 64) ins(%t[at(1), j] : memref<100x64xf32>, %[[P]][b + k] : memref<10xi64>)

// -----

// Rows are read once, not by each of those that use them.
// CHECK-LABEL: @kept_for_two
func.func @kept_for_two(%ids: memref<8xi64>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}, %z: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    %s = arith.addf %e, %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8, j = 64) ins(%a[i, j] : memref<8x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = math.exp %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8, j = 64) ins(%a[i, j] : memref<8x64xf32>) outs(%z[i, j] : memref<8x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = math.sin %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a
// CHECK: ins(%a[i, j] : memref<8x64xf32>) outs(%y
// CHECK: ins(%a[i, j] : memref<8x64xf32>) outs(%z

// -----

// What is read at the point may be written there; the index that stood behind it moves up.
// PLACE-LABEL: @in_place
func.func @in_place(%x: memref<8x64xf32>, %ids: memref<8xi64>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64) ins(%x[i, j] : memref<8x64xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%e: f32, %o: f32):
    %s = math.exp %e : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8, j = 64) ins(%a[i, j] : memref<8x64xf32>, %ids[i] : memref<8xi64>, %t[at(1), j] : memref<100x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%e: f32, %k: i64, %f: f32, %o: f32):
    %s = arith.subf %e, %f : f32
    loop.yield %s : f32
  }
  func.return
}
// PLACE: loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
// PLACE-NEXT: ^bb0(%{{.*}}: i64, %[[F:.*]]: f32, %[[ACC:.*]]: f32):
// PLACE-NEXT:   arith.subf %[[ACC]], %[[F]] : f32

// -----

// What is read as an index is not written over, nor is a table of which each point may read any element.
// PLACE-LABEL: @not_in_place
func.func @not_in_place(%x: memref<8xi64>, %y: memref<8xi64> {inarch.result}, %z: memref<8xi64> {inarch.result}) {
  %a = loop.alloc : memref<8xi64>
  loop.nest (i = 8) ins(%x[i] : memref<8xi64>) outs(%a[i] : memref<8xi64>) {
  ^bb0(%e: i64, %o: i64):
    %s = arith.addi %e, %e : i64
    loop.yield %s : i64
  }
  loop.nest (i = 8) ins(%x[i] : memref<8xi64>, %a[at(0)] : memref<8xi64>) outs(%z[i] : memref<8xi64>) {
  ^bb0(%k: i64, %e: i64, %o: i64):
    loop.yield %e : i64
  }
  loop.nest (i = 8) ins(%a[i] : memref<8xi64>, %x[at(0)] : memref<8xi64>) outs(%y[i] : memref<8xi64>) {
  ^bb0(%k: i64, %e: i64, %o: i64):
    loop.yield %e : i64
  }
  func.return
}
// PLACE: ins(%x[i] : memref<8xi64>, %a[at(0)] : memref<8xi64>) outs(%z[i]
// PLACE: ins(%a[i] : memref<8xi64>, %x[at(0)] : memref<8xi64>) outs(%y[i]

// -----

// Threads share rows: each reads its own, of a table of which it looks at a part.
// SHARE-LABEL: @shared
// SHARE: loop.nest (i = 64 parallel, j = 4096)
func.func @shared(%ids: memref<64xi64>, %t: memref<1000x4096xf32>, %y: memref<64x4096xf32> {inarch.result}) {
  loop.nest (i = 64, j = 4096) ins(%ids[i] : memref<64xi64>, %t[at(0), j] : memref<1000x4096xf32>) outs(%y[i, j] : memref<64x4096xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
