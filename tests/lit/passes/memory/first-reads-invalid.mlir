// RUN: inarch-opt %s --split-input-file --verify-diagnostics -p plan-memory

// A buffer that nothing writes
func.func @never(%y: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  // expected-error-re @below {{expected operand 0 of 'loop.nest' to be written before it is read, found element 0 of loop.alloc %t ({{.*}}), which nothing has written; write it first}}
  loop.nest (i = 4) ins(%t[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// A buffer that is written only later
func.func @later(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  // expected-error-re @below {{expected operand 0 of 'loop.nest' to be written before it is read, found element 0 of loop.alloc %t ({{.*}}), which nothing has written; write it first}}
  loop.nest (i = 4) ins(%t[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%t[i] : memref<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// A reduction that has no init, on a fresh buffer
func.func @no_init(%x: memref<4x3xf32>, %y: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  // expected-error-re @below {{expected output 0, which has no init, of 'loop.nest' to be written before it is read, found element 0 of loop.alloc %t ({{.*}}), which nothing has written; give it an init, or write it first}}
  loop.nest (i = 4, k = 3 reduction) ins(%x[i, k] : memref<4x3xf32>) outs(%t[i] : memref<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    loop.yield %s : f32
  }
  func.return
}

// -----

// The last element of what is read is the first that is not written
func.func @part(%x: memref<8xf32>, %y: memref<8xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (i = 7) ins(%x[i] : memref<8xf32>) outs(%t[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  %v = loop.reshape %t : memref<8xf32> to memref<2x4xf32>
  // expected-error-re @below {{expected operand 0 of 'loop.nest' to be written before it is read, found element 7 of loop.alloc %t ({{.*}}), which nothing has written; write it first}}
  loop.nest (i = 2, j = 4) ins(%v[i, j] : memref<2x4xf32>) outs(%y[i * 4 + j] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// Through calls, into a kernel's operand
kernel.def @add computes "for i in 4: Y[i] += X[i]" arguments [#kernel.operand<X : f32 read rank 1 align 4>, #kernel.operand<Y : f32 update rank 1 align 4>] needs [] source "x"
func.func @main(%x: memref<4xf32>) {
  %t = loop.alloc : memref<4xf32>
  loop.call @inner(%x, %t) : memref<4xf32>, memref<4xf32>
  func.return
}
func.func private @inner(%x: memref<4xf32>, %t: memref<4xf32>) {
  // expected-error-re @below {{expected operand Y of 'kernel.call' to be written before it is read, found element 0 of loop.alloc %t ({{.*}}), which nothing has written; write it first}}
  kernel.call @add (%x[0] strides [1], %t[0] strides [1]) sizes [] : memref<4xf32>, memref<4xf32>
  func.return
}

// -----

// A copy, an import's argument, a load
func.func @copy() {
  %t = loop.alloc : memref<4xf32>
  %u = loop.alloc : memref<4xf32>
  // expected-error-re @below {{expected what it copies of 'kernel.pack' to be written before it is read, found elements of loop.alloc %t ({{.*}}), which nothing has written; write it first}}
  kernel.pack %t[i] to %u[i] : memref<4xf32>, memref<4xf32>
  func.return
}

// -----

func.func private @ext(memref<4xf32>, memref<4xf32>)
func.func @import() {
  %t = loop.alloc : memref<4xf32>
  %u = loop.alloc : memref<4xf32>
  // expected-error-re @below {{expected argument 0 of 'loop.call' to be written before it is read, found elements of loop.alloc %t ({{.*}}), which nothing has written; write it first}}
  loop.call @ext(%t, %u) : memref<4xf32>, memref<4xf32>
  func.return
}

// -----

func.func @load(%y: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<4xf32>
  loop.for %i = 0 to 4 {
    // expected-error-re @below {{expected an element of 'memref.load' to be written before it is read, found elements of loop.alloc %t ({{.*}}), which nothing has written; write it first}}
    %a = memref.load %t[%i] : memref<4xf32>
    memref.store %a, %y[%i] : memref<4xf32>
    loop.yield
  }
  func.return
}

// -----

// Every other element from element 1 on, of which the second is within
func.func @steps_into(%y: memref<2xf32> {inarch.result}) {
  %t = loop.alloc : memref<2xf32>
  // expected-error-re @below {{expected operand 0 of 'loop.nest' to be written before it is read, found elements of loop.alloc %t ({{.*}}), which nothing has written; write it first}}
  loop.nest (i = 2) ins(%t[i * 2 - 1] pad 0.0 : memref<2xf32>) outs(%y[i] : memref<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// The even elements, of which only the odd ones are written: those reach from 1 to 7
func.func @columns(%x: memref<8xf32>, %y: memref<3xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xf32>
  loop.nest (i = 4) ins(%x[i] : memref<8xf32>) outs(%t[i * 2 + 1] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  // expected-error-re @below {{expected operand 0 of 'loop.nest' to be written before it is read, found element 2 of loop.alloc %t ({{.*}}), which nothing has written; write it first}}
  loop.nest (i = 3) ins(%t[i * 2 + 2] : memref<8xf32>) outs(%y[i] : memref<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// An index of which nothing was written
func.func @index(%t: memref<8xf32>, %y: memref<4xf32> {inarch.result}) {
  %ids = loop.alloc : memref<4xi64>
  // expected-error-re @below {{expected operand 1 of 'loop.nest' to be written before it is read, found element 0 of loop.alloc %ids ({{.*}}), which nothing has written; write it first}}
  loop.nest (i = 4) ins(%t[at(1)] : memref<8xf32>, %ids[i] : memref<4xi64>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%a: f32, %k: i64, %o: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// A column of which nothing was written, in whatever row
func.func @column(%ids: memref<4xi64>, %x: memref<8xf32>, %y: memref<4xf32> {inarch.result}) {
  %t = loop.alloc : memref<8x2xf32>
  loop.nest (i = 8) ins(%x[i] : memref<8xf32>) outs(%t[i, 0] : memref<8x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  // expected-error-re @below {{expected operand 1 of 'loop.nest' to be written before it is read, found elements of loop.alloc %t ({{.*}}), which nothing has written; write it first}}
  loop.nest (i = 4) ins(%ids[i] : memref<4xi64>, %t[at(0), 1] : memref<8x2xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%k: i64, %a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// The condition of a loop of computed length, which only its iterations write
func.func @condition(%n: memref<i64>, %y: memref<4xf32> {inarch.result}) {
  %one = arith.constant 1 : index
  %m = memref.load %n[] : memref<i64>
  %most = arith.index_cast %m : i64 to index
  %go = loop.alloc : memref<i1>
  // expected-error-re @below {{expected its condition of 'loop.while' to be written before it is read, found elements of loop.alloc %go ({{.*}}), which nothing has written; write it first}}
  loop.while %i = %one to %most step %one if %go : memref<i1> {
    %less = arith.cmpi slt, %i, %one : index
    memref.store %less, %go[] : memref<i1>
    loop.yield
  }
  func.return
}

// -----

// The index of a write, which the body does not use
func.func @place(%x: memref<8xf32>, %y: memref<9xf32> {inarch.result}) {
  %t = loop.alloc : memref<8xi64>
  // expected-error-re @below {{expected operand 0 of 'loop.nest' to be written before it is read, found element 0 of loop.alloc %t ({{.*}}), which nothing has written; write it first}}
  loop.nest (i = 8 scan) ins(%t[i] : memref<8xi64>, %x[i] : memref<8xf32>) outs(%y[at(0)] : memref<9xf32>) {
  ^bb0(%k: i64, %a: f32, %o: f32):
    loop.yield %a : f32
  }
  func.return
}
