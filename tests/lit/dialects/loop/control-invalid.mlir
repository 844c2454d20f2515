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
