// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C1, a step of 0
func.func @zero(%n: index, %go: memref<i1>) {
  %zero = arith.constant 0 : index
  // expected-error @below {{'loop.while' C1: expected a step > 0, found 0}}
  loop.while %i = %n to %n step %zero if %go : memref<i1> {
    loop.yield
  }
  func.return
}

// -----

// C1, a step below 0
func.func @below(%n: index, %go: memref<i1>) {
  %back = arith.constant -2 : index
  // expected-error @below {{'loop.while' C1: expected a step > 0, found -2}}
  loop.while %i = %n to %n step %back {
    loop.yield
  }
  func.return
}

// -----

// C2, a buffer of an iteration that is handed on
func.func @leaks(%n: index, %go: memref<i1>) {
  // expected-error @below {{'loop.while' C2: expected a body that yields nothing, found (memref<i1>); what an iteration hands on to the next one is written to a buffer from outside of the loop}}
  loop.while %i = %n to %n step %n if %go : memref<i1> {
    loop.yield %go : memref<i1>
  }
  func.return
}

// -----

// C2
func.func @region(%n: index, %go: memref<i1>) {
  // expected-error @below {{'loop.while' C2: expected a region with one argument of type index}}
  "loop.while"(%n, %n, %n) ({
    loop.yield
  }) : (index, index, index) -> ()
  func.return
}

// -----

// C3, the type
func.func @number(%n: index, %go: memref<i8>) {
  // expected-error @below {{'loop.while' C3: expected a condition memref<i1>, found memref<i8>}}
  loop.while %i = %n to %n step %n if %go : memref<i8> {
    loop.yield
  }
  func.return
}

// -----

// C3, the rank
func.func @flags(%n: index, %go: memref<2xi1>) {
  // expected-error @below {{'loop.while' C3: expected a condition memref<i1>, found memref<2xi1>}}
  loop.while %i = %n to %n step %n if %go : memref<2xi1> {
    loop.yield
  }
  func.return
}

// -----

// C0
func.func @dynamic(%n: index, %go: memref<?xi1>) {
  // expected-error @below {{'loop.while' C0: expected a static shape, found memref<?xi1>}}
  loop.while %i = %n to %n step %n if %go : memref<?xi1> {
    loop.yield
  }
  func.return
}

// -----

// the end
func.func @terminator(%n: index, %go: memref<i1>) {
  // expected-error @below {{'loop.while' expected a region that ends in a terminator, found 'arith.constant'}}
  "loop.while"(%n, %n, %n) ({
  ^bb0(%i: index):
    %k = arith.constant 1 : index
  }) : (index, index, index) -> ()
  func.return
}
