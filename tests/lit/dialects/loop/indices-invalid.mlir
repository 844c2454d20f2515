// RUN: inarch-opt %s --split-input-file --verify-diagnostics

func.func @pad(%ids: memref<8xi64>, %t: memref<9x4xf32>, %y: memref<8x4xf32>) {
  // expected-error @below {{C11: expected no pad of operand 1, whose index is clamped}}
  loop.nest (i = 8, j = 4) ins(%ids[i] : memref<8xi64>, %t[at(0), j] pad 0.0 : memref<9x4xf32>) outs(%y[i, j] : memref<8x4xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @index_that_is_no_operand(%ids: memref<8xi64>, %t: memref<9x4xf32>, %y: memref<8x4xf32>) {
  // expected-error @below {{C11: expected an index of operand 1 in one of 2 operands, found at(2)}}
  loop.nest (i = 8, j = 4) ins(%ids[i] : memref<8xi64>, %t[at(2), j] : memref<9x4xf32>) outs(%y[i, j] : memref<8x4xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @index_of_floats(%ids: memref<8xf32>, %t: memref<9x4xf32>, %y: memref<8x4xf32>) {
  // expected-error @below {{C11: expected operand 0, an index of operand 1, to be i32 or i64, found f32}}
  loop.nest (i = 8, j = 4) ins(%ids[i] : memref<8xf32>, %t[at(0), j] : memref<9x4xf32>) outs(%y[i, j] : memref<8x4xf32>) {
  ^bb0(%k: f32, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @index_of_bytes(%ids: memref<8xi8>, %t: memref<9x4xf32>, %y: memref<8x4xf32>) {
  // expected-error @below {{C11: expected operand 0, an index of operand 1, to be i32 or i64, found i8}}
  loop.nest (i = 8, j = 4) ins(%ids[i] : memref<8xi8>, %t[at(0), j] : memref<9x4xf32>) outs(%y[i, j] : memref<8x4xf32>) {
  ^bb0(%k: i8, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @index_by_an_index(%ids: memref<8xi64>, %t: memref<9xi64>, %y: memref<8xi64>) {
  // expected-error @below {{C11: expected operand 1, an index of operand 2, to be read at linear indices}}
  loop.nest (i = 8) ins(%ids[i] : memref<8xi64>, %t[at(0)] : memref<9xi64>, %t[at(1)] : memref<9xi64>) outs(%y[i] : memref<8xi64>) {
  ^bb0(%k: i64, %l: i64, %x: i64, %o: i64):
    loop.yield %x : i64
  }
  func.return
}

// -----

func.func @index_by_itself(%t: memref<9xi64>, %y: memref<8xi64>) {
  // expected-error @below {{C11: expected operand 0, an index of operand 0, to be read at linear indices}}
  loop.nest (i = 8) ins(%t[at(0)] : memref<9xi64>) outs(%y[i] : memref<8xi64>) {
  ^bb0(%x: i64, %o: i64):
    loop.yield %x : i64
  }
  func.return
}

// -----

func.func @nothing_to_pick(%ids: memref<8xi64>, %t: memref<0x4xf32>, %y: memref<8x4xf32>) {
  // expected-error @below {{C11: expected an element of dimension 0 of operand 1 to pick, found none}}
  loop.nest (i = 8, j = 4) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<0x4xf32>) outs(%y[i, j] : memref<8x4xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @nothing_to_pick_at_the_end_of_an_empty_sum(%ids: memref<8xi64>, %t: memref<0xf32>, %y: memref<8xf32>) {
  // expected-error @below {{C11: expected an element of dimension 0 of operand 1 to pick, found none}}
  loop.nest (i = 8, r = 0 reduction) ins(%ids[i] : memref<8xi64>, %t[at(0)] : memref<0xf32>) outs(%y[i] init 0.0 : memref<8xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %o : f32
  }
  func.return
}

// -----

func.func @too_few_dimensions(%ids: memref<8xi64>, %t: memref<9x4xf32>, %y: memref<8xf32>) {
  // expected-error @below {{C2: expected a map from 1 iterators to 2 dimensions, found (d0) -> (0)}}
  loop.nest (i = 8) ins(%ids[i] : memref<8xi64>, %t[at(0)] : memref<9x4xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @too_many_dimensions(%ids: memref<8xi64>, %t: memref<9xf32>, %y: memref<8xf32>) {
  // expected-error @below {{C2: expected a map from 1 iterators to 1 dimensions, found (d0) -> (0, 0)}}
  loop.nest (i = 8) ins(%ids[i] : memref<8xi64>, %t[0, at(0)] : memref<9xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @the_other_dimension_is_left(%ids: memref<8xi64>, %t: memref<9x4xf32>, %y: memref<8x4xf32>) {
  // expected-error @below {{C3: index j + 1 of dimension 1 runs from 1 to 4, outside a size of 4}}
  loop.nest (i = 8, j = 4) ins(%ids[i] : memref<8xi64>, %t[at(0), j + 1] : memref<9x4xf32>) outs(%y[i, j] : memref<8x4xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @index_outside(%ids: memref<8xi64>, %t: memref<9x4xf32>, %y: memref<8x4xf32>) {
  // expected-error @below {{C3: index i + 1 of dimension 0 runs from 1 to 8, outside a size of 8}}
  loop.nest (i = 8, j = 4) ins(%ids[i + 1] : memref<8xi64>, %t[at(0), j] : memref<9x4xf32>) outs(%y[i, j] : memref<8x4xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @finish_by_an_index_of_the_sum(%ids: memref<8x3xi64>, %t: memref<9xf32>, %y: memref<8xf32>) {
  // expected-error @below {{C6: finish uses operand 1, which varies with r}}
  loop.nest (i = 8, r = 3 reduction) ins(%ids[i, r] : memref<8x3xi64>, %t[at(0)] : memref<9xf32>) outs(%y[i] init 0.0 : memref<8xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %o : f32
  } finish {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @any_row_may_be_written(%ids: memref<8xi64>, %t: memref<9x4xf32>) {
  // expected-error @below {{C8: expected operand 1 to read what output 0 writes at the same point only, found a read at [at(0), j] and a write at [i + 1, j] of one buffer; write to another buffer}}
  loop.nest (i = 8, j = 4) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<9x4xf32>) outs(%t[i + 1, j] : memref<9x4xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @the_index_is_written(%ids: memref<9xi64>, %t: memref<9xi64>) {
  // expected-error @below {{C8: expected operand 0 to read what output 0 writes at the same point only, found a read at [i + 1] and a write at [i] of one buffer; write to another buffer}}
  loop.nest (i = 8) ins(%ids[i + 1] : memref<9xi64>, %t[at(0)] : memref<9xi64>) outs(%ids[i] : memref<9xi64>) {
  ^bb0(%k: i64, %x: i64, %o: i64):
    loop.yield %x : i64
  }
  func.return
}

// -----

// A column that no row's pick reaches is written: the dimension that is picked is all of it, the others are not.
func.func @another_column(%ids: memref<8xi64>, %t: memref<9x4xf32>) {
  loop.nest (i = 8) ins(%ids[i] : memref<8xi64>, %t[at(0), 0] : memref<9x4xf32>) outs(%t[i, 1] : memref<9x4xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @write(%ids: memref<8xi64>, %y: memref<8xf32>) {
  // expected-error @below {{']' expected}}
  loop.nest (i = 8) ins(%ids[i] : memref<8xi64>) outs(%y[at(0) + 1] : memref<8xf32>) {
  ^bb0(%k: i64, %o: f32):
    loop.yield %o : f32
  }
  func.return
}

// -----

func.func @sum(%ids: memref<8xi64>, %t: memref<9xf32>, %y: memref<8xf32>) {
  // expected-error @below {{']' expected}}
  loop.nest (i = 8) ins(%ids[i] : memref<8xi64>, %t[at(0) + 1] : memref<9xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @generic_sum(%ids: memref<8xi64>, %t: memref<9xf32>, %y: memref<8xf32>) {
  // expected-error @below {{C11: expected at(n) alone in a dimension of operand 1, found (s0 + 1)}}
  "loop.nest"(%ids, %t, %y) <{iterators = [#loop.iterator<i = 8>], reads = [#loop.read<affine_map<(d0) -> (d0)>, none>, #loop.read<affine_map<(d0)[s0] -> (s0 + 1)>, none>], writes = [#loop.write<affine_map<(d0) -> (d0)>, none, "none">], operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%k: i64, %x: f32, %o: f32):
    "loop.yield"(%x) : (f32) -> ()
  }) : (memref<8xi64>, memref<9xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

func.func @generic_symbols(%ids: memref<8xi64>, %t: memref<9xf32>, %y: memref<8xf32>) {
  // expected-error @below {{C11: expected 1 symbols of operand 1, up to the last at(n), found (d0)[s0, s1] -> (s0)}}
  "loop.nest"(%ids, %t, %y) <{iterators = [#loop.iterator<i = 8>], reads = [#loop.read<affine_map<(d0) -> (d0)>, none>, #loop.read<affine_map<(d0)[s0, s1] -> (s0)>, none>], writes = [#loop.write<affine_map<(d0) -> (d0)>, none, "none">], operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%k: i64, %x: f32, %o: f32):
    "loop.yield"(%x) : (f32) -> ()
  }) : (memref<8xi64>, memref<9xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

func.func @generic_write(%ids: memref<8xi64>, %y: memref<8xi64>) {
  // expected-error @below {{C11: expected at(n) alone in a dimension of output 0, found (s0 + 1)}}
  "loop.nest"(%ids, %y) <{iterators = [#loop.iterator<i = 8>], reads = [#loop.read<affine_map<(d0) -> (d0)>, none>], writes = [#loop.write<affine_map<(d0)[s0] -> (s0 + 1)>, none, "none">], operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%k: i64, %o: i64):
    "loop.yield"(%k) : (i64) -> ()
  }) : (memref<8xi64>, memref<8xi64>) -> ()
  func.return
}

// -----

func.func @end_of_an_empty_sum(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @below {{C3: index i + 1 of dimension 0 runs from 1 to 8, outside a size of 8}}
  loop.nest (i = 8, r = 0 reduction) ins(%x[i + 1] : memref<8xf32>) outs(%y[i] init 0.0 : memref<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %acc : f32
  } finish {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// Whatever else is at one index at each point: of a row that is picked that is not known.
func.func @picked_of_the_row_that_is_written(%ids: memref<4xi64>, %t: memref<9x4xf32>) {
  // expected-error @below {{C8: expected operand 1 to read what output 0 writes at the same point only, found a read at [at(0), j] and a write at [0, j] of one buffer; write to another buffer}}
  loop.nest (j = 4) ins(%ids[j] : memref<4xi64>, %t[at(0), j] : memref<9x4xf32>) outs(%t[0, j] : memref<9x4xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @far(%ids: memref<8xi64>, %t: memref<9xf32>, %y: memref<8xf32>) {
  // expected-error @below {{C11: expected an index of operand 1 in one of 2 operands, found at(9999999999)}}
  loop.nest (i = 8) ins(%ids[i] : memref<8xi64>, %t[at(9999999999)] : memref<9xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

func.func @before_the_first(%ids: memref<8xi64>, %t: memref<9xf32>, %y: memref<8xf32>) {
  // expected-error @below {{Expected integer literal}}
  loop.nest (i = 8) ins(%ids[i] : memref<8xi64>, %t[at(-1)] : memref<9xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%k: i64, %x: f32, %o: f32):
    loop.yield %x : f32
  }
  func.return
}
