// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1, a constant
func.func @zero(%n: index) {
  %zero = arith.constant 0 : index
  // expected-error @below {{'loop.for' C1: expected a step > 0, found 0}}
  loop.for %i = %n to 8 step %zero {
    loop.yield
  }
  func.return
}

// -----

// C1, numbers of more than 64 bits
func.func @wide() {
  // expected-error @below {{'loop.for' C1: expected bounds and a step of 64 bits, found 9223372036854775808}}
  loop.for %i = 0 to 9223372036854775808 {
    loop.yield
  }
  func.return
}

// -----

// C1, an index beyond the upper bound that is not one of 64 bits
func.func @round(%n: index) {
  // expected-error @below {{'loop.for' C1: expected less than 2^63 for the upper bound and the step together, found 9223372036854775807 and 1}}
  loop.for %i = %n to 9223372036854775807 {
    loop.yield
  }
  func.return
}

// -----

// C1, more iterations than can be counted
func.func @many() {
  // expected-error @below {{'loop.for' C1: expected less than 2^63 numbers, found -4611686018427387905 to 4611686018427387904}}
  loop.for %i = -4611686018427387905 to 4611686018427387904 {
    loop.yield
  }
  func.return
}

// -----

// C3, copies of which nobody knows how many
func.func @copies(%n: index) {
  // expected-error @below {{'loop.for' C3: expected numbers as bounds of a loop that is unrolled}}
  loop.for %i = 0 to %n unroll {
    loop.yield
  }
  func.return
}

// -----

// C3, 2^60 of them
func.func @far() {
  // expected-error @below {{'loop.for' C3: expected at most 1024 copies, found 1152921504606846976}}
  loop.for %i = 0 to 1152921504606846976 unroll {
    loop.yield
  }
  func.return
}

// -----

// C4, an element of the next iteration, in a loop that may not be so long
func.func @next(%x: memref<9xf32>, %n: index) {
  %one = arith.constant 1 : index
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a read of %x[%i + 1] and a write of %x[%i], which cannot be shown to be of different elements in different iterations; make the loop serial}}
  loop.for %i = 0 to %n parallel {
    %j = arith.addi %i, %one : index
    %0 = memref.load %x[%j] : memref<9xf32>
    memref.store %0, %x[%i] : memref<9xf32>
    loop.yield
  }
  func.return
}

// -----

// C4, the same from a computed loop in one of numbers
func.func @column(%x: memref<8x8xf32>, %n: index) {
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %x[%j, 0] and a write of %x[%j, 0], which cannot be shown to be of different elements in different iterations; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    %zero = arith.constant 0 : index
    %0 = arith.constant 0.0 : f32
    loop.for %j = 0 to %n {
      memref.store %0, %x[%j, %zero] : memref<8x8xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}

// -----

// C4, tiles that overlap where the step is not known
func.func @steps(%x: memref<64xf32>, %step: index) {
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop}}
  loop.for %i = 0 to 60 step %step parallel {
    %part = memref.subview %x[%i] [4] [1] : memref<64xf32> to memref<4xf32, strided<[1], offset: ?>>
    loop.nest (k = 4) outs(%part[k] : memref<4xf32, strided<[1], offset: ?>>) {
    ^bb0(%0: f32):
      %1 = arith.addf %0, %0 : f32
      loop.yield %1 : f32
    }
    loop.yield
  }
  func.return
}

// -----

// C5
func.func @missing(%n: index) {
  // expected-error @below {{'loop.for' C5: expected 2 values as bounds, found 1}}
  "loop.for"(%n) <{lower = #builtin.int<0>, mode = "serial"}> ({
  ^bb0(%i: index):
    loop.yield
  }) : (index) -> ()
  func.return
}
