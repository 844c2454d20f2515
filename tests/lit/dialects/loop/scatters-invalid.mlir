// RUN: inarch-opt %s --split-input-file --verify-diagnostics

func.func @init(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x4xf32>) {
  // expected-error @below {{C12: expected no init of output 0, written at(n)}}
  loop.nest (i = 8 scan, j = 4) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(0), j] init 0.0 : memref<9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @clip(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x4xf32>) {
  // expected-error @below {{C12: expected no clip of output 0: what is outside is dropped}}
  loop.nest (i = 8 scan, j = 4) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(0), j] clip : memref<9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @two(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<8x9x4xf32>, %z: memref<8x4xf32>) {
  // expected-error @below {{C12: expected output 1, written at(n), to be the only one, found 2}}
  loop.nest (i = 8, j = 4) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%z[i, j] : memref<8x4xf32>, %y[i, at(0), j] : memref<8x9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32, %p: f32):
    loop.yield %e, %e : f32, f32
  }
  func.return
}

// -----

func.func @reduction(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x4xf32>) {
  // expected-error @below {{C12: expected no reduction beside a write at(n), found i; make it a scan}}
  loop.nest (i = 8 reduction, j = 4) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(0), j] : memref<9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @parallel(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x4xf32>) {
  // expected-error @below {{C4: a write does not use the parallel iterator i; make it a scan}}
  loop.nest (i = 8, j = 4) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(0), j] : memref<9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @shared(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x4xf32>) {
  // expected-error @below {{C1: expected an iterator that carries nothing to be shared among threads, found scan i}}
  loop.nest (i = 8 scan parallel, j = 4) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(0), j] : memref<9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @shared_inside(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x4xf32>) {
  // expected-error @below {{C10: expected the parallel iterator j outside what is carried}}
  loop.nest (i = 8 scan, j = 4 parallel) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(0), j] : memref<9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @two_scans(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x4xf32>) {
  // expected-error @below {{C9: expected one scan iterator at most, found i, j}}
  loop.nest (i = 8 scan, j = 4 scan) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(0), j] : memref<9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @outside(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x4xf32>) {
  // expected-error @below {{C3: index j + 1 of dimension 1 runs from 1 to 4, outside a size of 4}}
  loop.nest (i = 8 scan, j = 4) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(0), j + 1] : memref<9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @twice(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x11xf32>) {
  // expected-error @below {{C4: i + j writes one element twice}}
  loop.nest (i = 8, j = 4) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(0), i + j] : memref<9x11xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @nothing(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<0x4xf32>) {
  // expected-error @below {{C11: expected an element of dimension 0 of output 0 to pick, found none}}
  loop.nest (i = 8 scan, j = 4) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(0), j] : memref<0x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @no_operand(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x4xf32>) {
  // expected-error @below {{C11: expected an index of output 0 in one of 2 operands, found at(2)}}
  loop.nest (i = 8 scan, j = 4) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(2), j] : memref<9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @floats(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x4xf32>) {
  // expected-error @below {{C11: expected operand 1, an index of output 0, to be i32 or i64, found f32}}
  loop.nest (i = 8 scan, j = 4) ins(%ids[i] : memref<8xi64>, %x[i, j] : memref<8x4xf32>) outs(%y[at(1), j] : memref<9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @by_an_index(%ids: memref<8xi64>, %t: memref<9xi64>, %y: memref<9xi64>) {
  // expected-error @below {{C11: expected operand 1, an index of output 0, to be read at linear indices}}
  loop.nest (i = 8 scan) ins(%ids[i] : memref<8xi64>, %t[at(0)] : memref<9xi64>) outs(%y[at(1)] : memref<9xi64>) {
  ^bb0(%k: i64, %e: i64, %o: i64):
    loop.yield %e : i64
  }
  func.return
}

// -----

func.func @read_back(%ids: memref<8xi64>, %y: memref<9x4xf32>) {
  // expected-error @below {{C8: expected operand 1 to read what output 0 writes at the same point only, found a read at [i, j] and a write at [at(0), j] of one buffer; write to another buffer}}
  loop.nest (i = 8 scan, j = 4) ins(%ids[i] : memref<8xi64>, %y[i, j] : memref<9x4xf32>) outs(%y[at(0), j] : memref<9x4xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}

// -----

func.func @own_index(%y: memref<9xi64>) {
  // expected-error @below {{C8: expected operand 0 to read what output 0 writes at the same point only, found a read at [i] and a write at [at(0)] of one buffer; write to another buffer}}
  loop.nest (i = 8 scan) ins(%y[i] : memref<9xi64>) outs(%y[at(0)] : memref<9xi64>) {
  ^bb0(%k: i64, %e: i64):
    loop.yield %k : i64
  }
  func.return
}

// -----

// One row of several indices: which of the iterations writes it last is not known.
func.func @rows_in_a_shared_loop(%ids: memref<8xi64>, %x: memref<8x4xf32>, %y: memref<9x4xf32>) {
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y[at(0), j] and a write of %y[at(0), j], which cannot be shown to be of different elements in different iterations; make the loop serial}}
  loop.for %i = 0 to 8 step 1 parallel {
    %id = memref.subview %ids[%i] [1] [1] : memref<8xi64> to memref<1xi64, strided<[1], offset: ?>>
    %row = memref.subview %x[%i, 0] [1, 4] [1, 1] : memref<8x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>
    loop.nest (j = 4) ins(%id[0] : memref<1xi64, strided<[1], offset: ?>>, %row[0, j] : memref<1x4xf32, strided<[4, 1], offset: ?>>) outs(%y[at(0), j] : memref<9x4xf32>) {
    ^bb0(%k: i64, %e: f32, %o: f32):
      loop.yield %e : f32
    }
    loop.yield
  }
  func.return
}
