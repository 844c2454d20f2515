// RUN: inarch-opt %s --split-input-file -p plan-memory | filecheck %s

// What may be read: what a write before can have reached, what no point reads, what a branch may have written.

// CHECK-LABEL: func.func @halves(
func.func @halves(%x: memref<8xf32>, %y: memref<8xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  %a = memref.subview %t[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  %b = memref.subview %t[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  loop.nest (i = 4) ins(%x[i] : memref<8xf32>) outs(%a[i] : memref<4xf32, strided<[1]>>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  loop.nest (i = 4) ins(%a[i] : memref<4xf32, strided<[1]>>) outs(%b[i] : memref<4xf32, strided<[1], offset: 4>>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  loop.nest (i = 8) ins(%t[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  func.return
}

// -----

// Of no points nothing is read, and an accumulator that nothing uses is not either.
// CHECK-LABEL: func.func @nothing(
func.func @nothing(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  %u = loop.alloc : memref<4xf32>
  loop.nest (i = 0) ins(%t[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>, %t[i] : memref<4xf32>) outs(%u[i] : memref<4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    loop.yield %p : f32
  }
  loop.for %i = 4 to 4 {
    %a = memref.load %t[%i] : memref<4xf32>
    memref.store %a, %y[%i] : memref<4xf32>
    loop.yield
  }
  func.return
}

// -----

// Indices of -1 and 2 step over a size of 2: no point reads an element, as none is written.
// CHECK-LABEL: func.func @steps_over(
func.func @steps_over(%x: memref<2xf32>, %y: memref<2xf32> {inarch.result}) {
  %t = loop.alloc : memref<2xf32>
  loop.nest (i = 2) ins(%x[i] : memref<2xf32>, %t[i * 3 - 1] pad 0.0 : memref<2xf32>) outs(%y[i] : memref<2xf32>, %t[i * 3 - 1] clip : memref<2xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32, %acc: f32):
    %s = arith.addf %a, %b : f32
    %v = arith.addf %a, %acc : f32
    loop.yield %s, %v : f32, f32
  }
  func.return
}

// -----

// A reduction over nothing leaves what its init is, of a clipped output as well.
// CHECK-LABEL: func.func @over_nothing(
func.func @over_nothing(%x: memref<5x1xf32>, %y: memref<3xf32> {inarch.result}) {
  %t = loop.alloc : memref<3xf32>
  loop.nest (i = 5, k = 0 reduction) ins(%x[i, k] : memref<5x1xf32>) outs(%t[-i + 3] init 1.0 clip : memref<3xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  loop.nest (i = 3) ins(%t[i] : memref<3xf32>) outs(%y[i] : memref<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// A view that a loop moves may be anywhere in its buffer.
// CHECK-LABEL: func.func @moves(
func.func @moves(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  loop.for %i = 0 to 4 {
    %zero = arith.constant 0 : index
    %v = memref.subview %t[%i] [1] [1] : memref<4xf32> to memref<1xf32, strided<[1], offset: ?>>
    %a = memref.load %x[%i] : memref<4xf32>
    memref.store %a, %v[%zero] : memref<1xf32, strided<[1], offset: ?>>
    loop.yield
  }
  loop.nest (i = 4) ins(%t[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  func.return
}

// -----

// Of a buffer that is written in parts, each may be read, also after the others; and what lies across two.
// CHECK-LABEL: func.func @parts(
func.func @parts(%x: memref<8xf32>, %y: memref<8xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (i = 3) ins(%x[i] : memref<8xf32>) outs(%t[i] : memref<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  loop.nest (i = 2) ins(%x[i] : memref<8xf32>) outs(%t[i * 2 + 4] : memref<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  loop.nest (i = 3) ins(%x[i] : memref<8xf32>) outs(%t[i * 2 + 3] : memref<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  loop.nest (i = 2) ins(%t[i + 1] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  loop.nest (i = 2) ins(%t[i * 2 + 4] : memref<8xf32>) outs(%y[i + 2] : memref<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  loop.nest (i = 4) ins(%t[i + 2] : memref<8xf32>) outs(%y[i + 4] : memref<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  func.return
}

// Rows that are picked: nobody knows that one of them is not written. An index that nothing uses is not read.
// CHECK-LABEL: func.func @picked(
func.func @picked(%ids: memref<4xi64>, %x: memref<2xf32>, %y: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  %u = loop.alloc : memref<4xi64>
  loop.nest (i = 2) ins(%x[i] : memref<2xf32>) outs(%t[i + 3] : memref<8xf32>) {
  ^bb0(%p: f32, %o: f32):
    loop.yield %p : f32
  }
  loop.nest (i = 4) ins(%ids[i] : memref<4xi64>, %t[at(0)] : memref<8xf32>, %u[i] : memref<4xi64>, %x[at(2)] : memref<2xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%k: i64, %p: f32, %l: i64, %q: f32, %o: f32):
    loop.yield %p : f32
  }
  func.return
}

// -----

// A loop of computed length may have no iteration: what it writes may have been written, and it reads nothing.
// CHECK-LABEL: func.func @computed
func.func @computed(%n: memref<i64>, %y: memref<4xf32> {inarch.result}) {
  %one = arith.constant 1 : index
  %m = memref.load %n[] : memref<i64>
  %most = arith.index_cast %m : i64 to index
  %t = loop.alloc : memref<4xf32>
  %u = loop.alloc : memref<4xf32>
  loop.while %i = %one to %most step %one {
    loop.nest (j = 4) ins(%u[j] : memref<4xf32>) outs(%t[j] : memref<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      loop.yield %a : f32
    }
    loop.yield
  }
  loop.nest (j = 4) ins(%t[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
