// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// for, C1, the step
func.func @step() {
  // expected-error @below {{'loop.for' C1: expected a step > 0, found 0}}
  loop.for %i = 0 to 8 step 0 {
    loop.yield
  }
  func.return
}

// -----

// for, C1, the mode
func.func @mode() {
  // expected-error @below {{'loop.for' C1: expected a mode of ('serial', 'parallel', 'unroll'), found 'vector'}}
  "loop.for"() <{lower = #builtin.int<0>, upper = #builtin.int<8>, step = #builtin.int<1>, mode = "vector"}> ({
  ^bb0(%i : index):
    loop.yield
  }) : () -> ()
  func.return
}

// -----

// for, C3, also by several loops
func.func @copies() {
  loop.for %i = 0 to 32 unroll {
    loop.for %k = 0 to 9 {
      // expected-error @below {{'loop.for' C3: expected at most 1024 copies, found 1056}}
      loop.for %j = 0 to 65 step 2 unroll {
        loop.yield
      }
      loop.yield
    }
    loop.yield
  }
  func.return
}

// -----

// for, C2
func.func @argument() {
  // expected-error @below {{'loop.for' C2: expected a region with one argument of type index}}
  "loop.for"() <{lower = #builtin.int<0>, upper = #builtin.int<8>, step = #builtin.int<1>, mode = "serial"}> ({
  ^bb0(%i : i64):
    loop.yield
  }) : () -> ()
  func.return
}

// -----

// for, C2, a buffer of an iteration that is handed on
func.func @leaks() {
  // expected-error @below {{'loop.for' C2: expected a body that yields nothing, found (memref<4xf32>, index); what an iteration hands on to the next one is written to a buffer from outside of the loop}}
  loop.for %i = 0 to 8 {
    %t = loop.alloc : memref<4xf32>
    loop.yield %t, %i : memref<4xf32>, index
  }
  func.return
}

// -----

// for, a buffer of an iteration behind the loop
func.func @behind(%y: memref<4xf32>) {
  loop.for %i = 0 to 8 {
    %t = loop.alloc : memref<4xf32>
    loop.yield
  }
  %c = arith.constant 0 : index
  // expected-error @below {{value %t is used but not defined}}
  %f = memref.load %t[%c] : memref<4xf32>
  func.return
}

// -----

// for, no terminator
func.func @terminator(%a: memref<8xf32>) {
  // expected-error @below {{'loop.for' expected a region that ends in a terminator, found 'memref.load'}}
  loop.for %i = 0 to 8 {
    %x = memref.load %a[%i] : memref<8xf32>
  }
  func.return
}

// -----

// call, C0
func.func @call_dynamic(%a: memref<?xf32>) {
  // expected-error @below {{'loop.call' C0: expected a static shape, found memref<?xf32>}}
  loop.call @call_dynamic(%a) : memref<?xf32>
  func.return
}

// -----

// call of nothing
func.func @call_unknown(%a: memref<8xf32>) {
  // expected-error @below {{'loop.call' callee refers to no symbol @foo; known: @call_unknown}}
  loop.call @foo(%a) : memref<8xf32>
  func.return
}

// -----

// call, C1: one buffer as both operands of a transpose
func.func private @iteration(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  loop.nest (i = 4, j = 4) ins(%a[j, i] : memref<4x4xf32>) outs(%b[i, j] : memref<4x4xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}
func.func private @around(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  loop.call @iteration(%a, %b) : memref<4x4xf32>, memref<4x4xf32>
  func.return
}
func.func @call_twice(%t: memref<4x4xf32>) {
  // expected-error @below {{'loop.call' C1: @around is given one buffer twice, and in it 'loop.call' C1: @iteration is given one buffer twice, and in it 'loop.nest' C8: expected operand 0 to read what output 0 writes at the same point only, found a read at [j, i] and a write at [i, j] of one buffer; write to another buffer}}
  loop.call @around(%t, %t) : memref<4x4xf32>, memref<4x4xf32>
  func.return
}

// -----

// an index that a loop takes beyond its buffer: the compiled program would write over what is behind it
func.func @behind(%a: memref<4xf32> {inarch.result}) {
  %c = arith.constant 1.0 : f32
  loop.for %i = 0 to 9999999 {
    // expected-error @below {{'memref.store' expected an index from 0 to 3 in dimension 0, found 0 to 9999998}}
    memref.store %c, %a[%i] : memref<4xf32>
    loop.yield
  }
  func.return
}

// -----

// a constant index that is outside
func.func @constant(%a: memref<2x4xf32>) {
  %c = arith.constant 9 : index
  %z = arith.constant 1 : index
  // expected-error @below {{'memref.load' expected an index from 0 to 3 in dimension 1, found 9}}
  %x = memref.load %a[%z, %c] : memref<2x4xf32>
  func.return
}

// -----

// call, C1: an import that would write what it reads
func.func private @ext(memref<4xf32>, memref<4xf32>)
func.func @call_import(%t: memref<4xf32>) {
  // expected-error @below {{'loop.call' C1: expected argument 1, which import @ext writes, in memory of its own, found that of argument 0}}
  loop.call @ext(%t, %t) : memref<4xf32>, memref<4xf32>
  func.return
}

// -----

// an index that is linear in two loops, and negative in the first iteration
func.func @before(%a: memref<64xf32>) {
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  loop.for %i = 0 to 8 {
    loop.for %j = 0 to 8 step 2 {
      %0 = arith.muli %i, %eight : index
      %1 = arith.addi %0, %j : index
      %2 = arith.subi %1, %one : index
      // expected-error @below {{'memref.load' expected an index from 0 to 63 in dimension 0, found -1 to 61}}
      %x = memref.load %a[%2] : memref<64xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}

// -----

// call, C1: an import that says which argument it writes
"func.func"() <{sym_name = "first", sym_visibility = "private", function_type = (memref<4xf32>, memref<4xf32>) -> (), arg_attrs = [{inarch.result}, {}]}> ({}) : () -> ()
func.func @call_marked(%t: memref<4x4xf32>) {
  %v = memref.subview %t[0, 0] [1, 4] [1, 1] : memref<4x4xf32> to memref<4xf32, strided<[1]>>
  %w = memref.subview %t[1, 0] [1, 4] [1, 1] : memref<4x4xf32> to memref<4xf32, strided<[1], offset: 4>>
  loop.call @first(%v, %w) : memref<4xf32, strided<[1]>>, memref<4xf32, strided<[1], offset: 4>>
  // expected-error @below {{'loop.call' C1: expected argument 0, which import @first writes, in memory of its own, found that of argument 1}}
  loop.call @first(%v, %v) : memref<4xf32, strided<[1]>>, memref<4xf32, strided<[1]>>
  func.return
}

// -----

// a buffer without elements has none to read
func.func @nothing(%a: memref<0xf32>) {
  %z = arith.constant 0 : index
  // expected-error @below {{'memref.load' expected no access to a size of 0 in dimension 0, found 0}}
  %x = memref.load %a[%z] : memref<0xf32>
  func.return
}
