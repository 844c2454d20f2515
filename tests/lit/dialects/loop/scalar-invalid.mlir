// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// Operands of two types cannot be written in the custom form.
func.func @remainder_of_two_types(%a: f32, %b: f64) {
  // expected-error @below {{'loop.remf' operand 'b' at position 1 does not verify}}
  %0 = "loop.remf"(%a, %b) : (f32, f64) -> f32
  func.return
}

// -----

// point, C1
func.func @point_of_no_nest() {
  // expected-error @below {{'loop.point' C1: expected to be in a region of a 'loop.nest', found 'func.func'}}
  %0 = loop.point 3 : index
  func.return
}

// -----

// point, C1, within another op
func.func @point_deeper(%y: memref<4xi64>, %b: i1) {
  loop.nest (i = 4) outs(%y[i] : memref<4xi64>) {
  ^bb0(%o: i64):
    %r = scf.if %b -> (i64) {
      // expected-error @below {{'loop.point' C1: expected to be in a region of a 'loop.nest', found 'scf.if'}}
      %0 = loop.point i : index
      %p = arith.index_cast %0 : index to i64
      scf.yield %p : i64
    } else {
      scf.yield %o : i64
    }
    loop.yield %r : i64
  }
  func.return
}

// -----

// point, C2, of another nest
func.func @point_unknown(%y: memref<4xi64>) {
  loop.nest (i = 4) outs(%y[i] : memref<4xi64>) {
  ^bb0(%o: i64):
    // expected-error @below {{'loop.point' C2: expected one of i, found j}}
    %0 = loop.point i + j : index
    loop.yield %o : i64
  }
  func.return
}

// -----

// point, C2, a nest without iterators
func.func @point_of_none(%y: memref<i64>) {
  loop.nest () outs(%y[] : memref<i64>) {
  ^bb0(%o: i64):
    // expected-error @below {{'loop.point' C2: expected one of none, found j}}
    %0 = loop.point j : index
    loop.yield %o : i64
  }
  func.return
}

// -----

// point, C2, one iterator twice
func.func @point_twice(%y: memref<4xi64>) {
  loop.nest (i = 4) outs(%y[i] : memref<4xi64>) {
  ^bb0(%o: i64):
    // expected-error @below {{'loop.point' C2: expected distinct iterators, found i, i}}
    %0 = "loop.point"() <{iterators = ["i", "i"], index = affine_map<(d0, d1) -> (d0 + d1)>}> : () -> index
    loop.yield %o : i64
  }
  func.return
}

// -----

// point, C2, a map over others
func.func @point_map(%y: memref<4xi64>) {
  loop.nest (i = 4) outs(%y[i] : memref<4xi64>) {
  ^bb0(%o: i64):
    // expected-error @below {{'loop.point' C2: expected one result over 1 iterators, found (d0, d1) -> ((d0 + d1))}}
    %0 = "loop.point"() <{iterators = ["i"], index = affine_map<(d0, d1) -> (d0 + d1)>}> : () -> index
    loop.yield %o : i64
  }
  func.return
}

// -----

// point, C2, not linear
func.func @point_modulo(%y: memref<4xi64>) {
  loop.nest (i = 4) outs(%y[i] : memref<4xi64>) {
  ^bb0(%o: i64):
    // expected-error @below {{'loop.point' C2: expected a linear index expression, found (d0 mod 2)}}
    %0 = "loop.point"() <{iterators = ["i"], index = affine_map<(d0) -> (d0 mod 2)>}> : () -> index
    loop.yield %o : i64
  }
  func.return
}

// -----

// point, C2, too large
func.func @point_wide(%y: memref<4xi64>) {
  loop.nest (i = 4) outs(%y[i] : memref<4xi64>) {
  ^bb0(%o: i64):
    // expected-error @below {{'loop.point' C2: expected values of 64 bits, found up to 9223372036854775808}}
    %0 = loop.point i + 9223372036854775805 : index
    loop.yield %o : i64
  }
  func.return
}

// -----

// point, C3
func.func @point_behind(%y: memref<4xi64>) {
  loop.nest (i = 4, k = 3 reduction) outs(%y[i] init 0 : memref<4xi64>) {
  ^bb0(%acc: i64):
    loop.yield %acc : i64
  } finish {
  ^bb0(%acc: i64):
    // expected-error @below {{'loop.point' C3: finish is behind all points of k, which reduces}}
    %0 = loop.point i + k : index
    loop.yield %acc : i64
  }
  func.return
}
