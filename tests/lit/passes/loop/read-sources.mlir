// RUN: inarch-opt %s --split-input-file -p read-sources{always=true} | filecheck %s
// RUN: inarch-opt %s --split-input-file -p read-sources{always=true} --verify-semantics -o %t
// RUN: inarch-opt %s --split-input-file -p read-sources --verify-diagnostics --remarks -o %t

// A transposed matrix: a kernel packs it from where it is.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: loop.nest (m = 64, n = 72, k = 50 reduction)
// CHECK-SAME: ins(%a[m, k] : memref<64x50xf32>, %b[n, k] : memref<72x50xf32>)
// CHECK: func.return
builtin.module attributes {inarch.target = "x86-64-v3"} {
func.func @main(%a: memref<64x50xf32>, %b: memref<72x50xf32>, %c: memref<64x72xf32> {inarch.result}) {
  %t = loop.alloc : memref<50x72xf32>
  loop.nest (i = 50, j = 72) ins(%b[j, i] : memref<72x50xf32>) outs(%t[i, j] : memref<50x72xf32>) {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  }
  // expected-remark @below {{[read-sources] reads the source of the copy at}}
  loop.nest (m = 64, n = 72, k = 50 reduction) ins(%a[m, k] : memref<64x50xf32>, %t[k, n] : memref<50x72xf32>) outs(%c[m, n] init 0.0 : memref<64x72xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %r = arith.addf %s, %p : f32
    loop.yield %r : f32
  }
  func.return
}
}

// -----

// A copy that is a result stays, and is read.
// CHECK-LABEL: func.func @result
// CHECK: loop.nest (m = 64, n = 72, k = 50 reduction)
// CHECK-SAME: ins(%a[m, k] : memref<64x50xf32>, %t[k, n] : memref<50x72xf32>)
builtin.module attributes {inarch.target = "x86-64-v3"} {
func.func @result(%a: memref<64x50xf32>, %b: memref<72x50xf32>, %t: memref<50x72xf32> {inarch.result}, %c: memref<64x72xf32> {inarch.result}) {
  loop.nest (i = 50, j = 72) ins(%b[j, i] : memref<72x50xf32>) outs(%t[i, j] : memref<50x72xf32>) {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  }
  loop.nest (m = 64, n = 72, k = 50 reduction) ins(%a[m, k] : memref<64x50xf32>, %t[k, n] : memref<50x72xf32>) outs(%c[m, n] init 0.0 : memref<64x72xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %r = arith.addf %s, %p : f32
    loop.yield %r : f32
  }
  func.return
}
}

// -----

// Columns and rows of a part of a matrix: the copy is as good where the price counts.
// CHECK-LABEL: func.func @part
// CHECK-NEXT: loop.nest (m = 5, k = 7 reduction) ins(%b[k + 1, m] : memref<8x5xf32>)
// CHECK: loop.nest (k = 7, m = 5 reduction) ins(%b[k + 1, m] : memref<8x5xf32>)
func.func @part(%b: memref<8x5xf32>, %c: memref<5xf32> {inarch.result}, %d: memref<7xf32> {inarch.result}) {
  %t = loop.alloc : memref<5x7xf32>
  loop.nest (i = 5, j = 7) ins(%b[j + 1, i] : memref<8x5xf32>) outs(%t[i, j] : memref<5x7xf32>) {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  }
  // expected-remark @below {{[read-sources] missed: the source of a copy would take}}
  loop.nest (m = 5, k = 7 reduction) ins(%t[m, k] : memref<5x7xf32>) outs(%c[m] init 0.0 : memref<5xf32>) {
  ^bb0(%x: f32, %s: f32):
    %r = arith.addf %s, %x : f32
    loop.yield %r : f32
  }
  // expected-remark @below {{[read-sources] missed: the source of a copy would take}}
  loop.nest (k = 7, m = 5 reduction) ins(%t[m, k] : memref<5x7xf32>) outs(%d[k] init 0.0 : memref<7xf32>) {
  ^bb0(%x: f32, %s: f32):
    %r = arith.addf %s, %x : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// Its source is written before it is read.
// CHECK-LABEL: func.func @written
// CHECK-COUNT-3: loop.nest
func.func @written(%b: memref<7x5xf32> {inarch.result}, %c: memref<5xf32> {inarch.result}) {
  %t = loop.alloc : memref<5x7xf32>
  loop.nest (i = 5, j = 7) ins(%b[j, i] : memref<7x5xf32>) outs(%t[i, j] : memref<5x7xf32>) {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  }
  loop.nest (j = 7, i = 5) outs(%b[j, i] : memref<7x5xf32>) {
  ^bb0(%o: f32):
    %r = arith.negf %o : f32
    loop.yield %r : f32
  }
  loop.nest (m = 5, k = 7 reduction) ins(%t[m, k] : memref<5x7xf32>) outs(%c[m] init 0.0 : memref<5xf32>) {
  ^bb0(%x: f32, %s: f32):
    %r = arith.addf %s, %x : f32
    loop.yield %r : f32
  }
  func.return
}

// -----

// The schedule of this copy is its author's.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-2: loop.nest
func.func @kept(%b: memref<7x5xf32>, %c: memref<5xf32> {inarch.result}) {
  %t = loop.alloc : memref<5x7xf32>
  loop.nest (i = 5, j = 7) ins(%b[j, i] : memref<7x5xf32>) outs(%t[i, j] : memref<5x7xf32>) attributes {inarch.keep} {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  }
  loop.nest (m = 5, k = 7 reduction) ins(%t[m, k] : memref<5x7xf32>) outs(%c[m] init 0.0 : memref<5xf32>) {
  ^bb0(%x: f32, %s: f32):
    %r = arith.addf %s, %x : f32
    loop.yield %r : f32
  }
  func.return
}
