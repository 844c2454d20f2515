// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C0, a dynamic shape
func.func @dynamic(%a: memref<?xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C0: expected a static shape, found memref<?xf32>}}
  loop.nest (i = 8) ins(%a[i] : memref<?xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C0, signedness
func.func @unsigned(%a: memref<8xui8>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C0: expected a supported signless dtype, found memref<8xui8>}}
  loop.nest (i = 8) ins(%a[i] : memref<8xui8>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C0, dynamic strides
func.func @strides(%a: memref<8xf32, strided<[?]>>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C0: expected static strides, found memref<8xf32, strided<[?]>>}}
  loop.nest (i = 8) ins(%a[i] : memref<8xf32, strided<[?]>>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C1, one name twice
func.func @names(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C1: expected distinct iterator names}}
  loop.nest (i = 8, i = 8 reduction) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C2, how many accesses
func.func @accesses(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C2: expected one access for each operand}}
  "loop.nest"(%a, %b) <{iterators = [#loop.iterator<i = 8>], reads = [], writes = [], operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

// C2, an access of an output for an operand that is read
func.func @segments(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C2: expected one access for each operand}}
  "loop.nest"(%a, %b) <{iterators = [#loop.iterator<i = 8>], reads = [#loop.read<affine_map<(d0) -> (d0)>, none>], writes = [#loop.write<affine_map<(d0) -> (d0)>, none, "none">], operandSegmentSizes = array<i32: 0, 2>}> ({
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

// C2, a map of another rank
func.func @rank(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C2: expected a map from 1 iterators to 1 dimensions, found (d0) -> (d0, d0)}}
  loop.nest (i = 8) ins(%a[i, i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C2, a map that is not linear
func.func @linear(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C2: expected a linear index expression, found (d0 floordiv 2)}}
  loop.nest (i = 8) ins(%a[i floordiv 2] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C3, a read behind
func.func @behind(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C3: index i + 1 of dimension 0 runs from 1 to 8, outside a size of 8}}
  loop.nest (i = 8) ins(%a[i + 1] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C3, a read before
func.func @before(%a: memref<16xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C3: index i * 2 - 7 of dimension 0 runs from -7 to 7, outside a size of 16}}
  loop.nest (i = 8) ins(%a[i * 2 - 7] : memref<16xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C3, a write
func.func @write(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C3: index i of dimension 0 runs from 0 to 8, outside a size of 8}}
  loop.nest (i = 9) ins(%a[0] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C4, a write that varies with a reduction iterator
func.func @reduced(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C4: a write uses the reduction iterator i}}
  loop.nest (i = 8 reduction) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C1, threads would share a sum
func.func @shared_sum(%a: memref<2x3xf32>, %b: memref<2xf32>) {
  // expected-error @below {{C1: expected an iterator that carries nothing to be shared among threads, found reduction k}}
  loop.nest (i = 2, k = 3 reduction parallel) ins(%a[i, k] : memref<2x3xf32>) outs(%b[i] : memref<2xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    loop.yield %s : f32
  }
  func.return
}

// -----

// C10, two loops that threads share
func.func @two_shared(%a: memref<2x3xf32>, %b: memref<2x3xf32>) {
  // expected-error @below {{'loop.nest' C10: expected one parallel iterator at most, found also j}}
  loop.nest (i = 2 parallel, j = 3 parallel) ins(%a[i, j] : memref<2x3xf32>) outs(%b[i, j] : memref<2x3xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C10, a tile of accumulators is one thread's
func.func @inside(%a: memref<2x3xf32>, %b: memref<2xf32>) {
  // expected-error @below {{'loop.nest' C10: expected the parallel iterator i outside what is carried}}
  loop.nest (k = 3 reduction, i = 2 parallel) ins(%a[i, k] : memref<2x3xf32>) outs(%b[i] : memref<2xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %s = arith.addf %acc, %x : f32
    loop.yield %s : f32
  }
  func.return
}

// -----

// C4, a write that leaves out a parallel iterator
func.func @left_out(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C4: a write does not use the parallel iterator j}}
  loop.nest (i = 8, j = 2) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C4, two points write one element
func.func @twice(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C4: i + j writes one element twice}}
  loop.nest (i = 4, j = 4) ins(%a[i] : memref<8xf32>) outs(%b[i + j] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C5, the arguments
func.func @arguments(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C5: expected arguments (f32, f32), found (f32, f64)}}
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f64):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C5, what is yielded
func.func @yields(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C5: expected to yield (f32), found (f32, f32)}}
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x, %x: f32, f32
  }
  func.return
}

// -----

// C5, another terminator
func.func @terminator(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C5: expected a region that ends in loop.yield}}
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    // expected-error @below {{'func.return' expects parent op 'func.func'}}
    func.return
  }
  func.return
}

// -----

// C5, the finish
func.func @finish_arguments(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C5: expected arguments (f32, f32), found (f32)}}
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  } finish {
  ^bb1(%y: f32):
    loop.yield %y : f32
  }
  func.return
}

// -----

// C6
func.func @finish_varies(%a: memref<8x3xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C6: finish uses operand 0, which varies with k}}
  loop.nest (i = 8, k = 3 reduction) ins(%a[i, k] : memref<8x3xf32>) outs(%b[i] init 0.0 : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  } finish {
  ^bb1(%y: f32, %r: f32):
    loop.yield %y : f32
  }
  func.return
}

// -----

// C7, a pad
func.func @pad_type(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C7: expected pad of type f32, found 0.000000e+00 : f64}}
  "loop.nest"(%a, %b) <{iterators = [#loop.iterator<i = 8>], reads = [#loop.read<affine_map<(d0) -> (d0)>, 0.0 : f64>], writes = [#loop.write<affine_map<(d0) -> (d0)>, none, "none">], operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

// C7, an init
func.func @init_type(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C7: expected init of type f32, found 0 : i32}}
  "loop.nest"(%a, %b) <{iterators = [#loop.iterator<i = 8>], reads = [#loop.read<affine_map<(d0) -> (d0)>, none>], writes = [#loop.write<affine_map<(d0) -> (d0)>, 0 : i32, "none">], operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}

// -----

// C4, the elements of an output that are one in memory
func.func @folded(%a: memref<4x4xf32>, %b: memref<4x4xf32, strided<[3, 1]>>) {
  // expected-error @below {{'loop.nest' C4: two elements of an output are one in memory: memref<4x4xf32, strided<[3, 1]>>}}
  loop.nest (i = 4, j = 4) ins(%a[i, j] : memref<4x4xf32>) outs(%b[i, j] : memref<4x4xf32, strided<[3, 1]>>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C8, a transpose in place
func.func @transpose(%t: memref<4x4xf32>) {
  // expected-error @below {{'loop.nest' C8: expected operand 0 to read what output 0 writes at the same point only, found a read at [j, i] and a write at [i, j] of one buffer; write to another buffer}}
  loop.nest (i = 4, j = 4) ins(%t[j, i] : memref<4x4xf32>) outs(%t[i, j] : memref<4x4xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C8, a neighbour, the second operand
func.func @shift(%a: memref<8xf32>, %b: memref<9xf32>) {
  // expected-error @below {{'loop.nest' C8: expected operand 1 to read what output 0 writes at the same point only, found a read at [i + 1] and a write at [i] of one buffer; write to another buffer}}
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>, %b[i + 1] : memref<9xf32>) outs(%b[i] : memref<9xf32>) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    loop.yield %y : f32
  }
  func.return
}

// -----

// C8, one element that every point reads
func.func @one(%b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C8: expected operand 0 to read what output 0 writes at the same point only, found a read at [0] and a write at [i] of one buffer; write to another buffer}}
  loop.nest (i = 8) ins(%b[0] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C8, a padded read of what another point writes
func.func @padded(%b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C8: expected operand 0 to read what output 0 writes at the same point only, found a read at [i - 7] and a write at [i] of one buffer; write to another buffer}}
  loop.nest (i = 8) ins(%b[i - 7] pad 0.0 : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C8, through a reshape
func.func @reshaped(%b: memref<4x4xf32>) {
  %v = loop.reshape %b : memref<4x4xf32> to memref<16xf32>
  // expected-error @below {{'loop.nest' C8: expected operand 0 to read what output 0 writes at the same point only, found a read at [i + j * 4] and a write at [i, j] of one buffer; write to another buffer}}
  loop.nest (i = 4, j = 4) ins(%v[i + j * 4] : memref<16xf32>) outs(%b[i, j] : memref<4x4xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C8, through subviews that have one row in common
func.func @subviews(%b: memref<4x8xf32>) {
  %v = memref.subview %b[0, 0] [3, 8] [1, 1] : memref<4x8xf32> to memref<3x8xf32, strided<[8, 1]>>
  %w = memref.subview %b[2, 0] [2, 8] [1, 1] : memref<4x8xf32> to memref<2x8xf32, strided<[8, 1], offset: 16>>
  // expected-error @below {{'loop.nest' C8: expected operand 0 to read what output 0 writes at the same point only, found a read at [i + 1, j] and a write at [i, j] of one buffer; write to another buffer}}
  loop.nest (i = 2, j = 8) ins(%v[i + 1, j] : memref<3x8xf32, strided<[8, 1]>>) outs(%w[i, j] : memref<2x8xf32, strided<[8, 1], offset: 16>>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C8, two outputs
func.func @outputs(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C8: expected outputs 0 and 1 to write different elements, found [i] and [-i + 7] of one buffer; write to two buffers}}
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>, %b[-i + 7] : memref<8xf32>) {
  ^bb0(%x: f32, %p: f32, %q: f32):
    loop.yield %x, %x : f32, f32
  }
  func.return
}

// -----

// C8, two outputs at the same point
func.func @same_outputs(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C8: expected outputs 0 and 1 to write different elements, found [i] and [i] of one buffer; write to two buffers}}
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>, %b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %p: f32, %q: f32):
    loop.yield %x, %x : f32, f32
  }
  func.return
}

// -----

// C4, a write that leaves out the scan iterator
func.func @scan_left_out(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C4: a write does not use the scan iterator k}}
  loop.nest (k = 8 scan) ins(%a[k] : memref<8xf32>) outs(%b[0] init 0.0 : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C4, two points of a scan write one element
func.func @scan_twice(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C4: i + k writes one element twice}}
  loop.nest (i = 4, k = 4 scan) ins(%a[i] : memref<8xf32>) outs(%b[i + k] init 0.0 : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C8, a scan that reads what it has written: the element is in its accumulator
func.func @scan_back(%b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C8: expected operand 0 to read what output 0 writes at the same point only, found a read at [k] and a write at [k + 1] of one buffer; write to another buffer}}
  loop.nest (k = 7 scan) ins(%b[k] : memref<8xf32>) outs(%b[k + 1] init 0.0 : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C9, two scans
func.func @two_scans(%a: memref<8x8xf32>, %b: memref<8x8xf32>) {
  // expected-error @below {{'loop.nest' C9: expected one scan iterator at most, found i, k}}
  loop.nest (i = 8 scan, k = 8 scan) ins(%a[i, k] : memref<8x8xf32>) outs(%b[i, k] init 0.0 : memref<8x8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C9, in lanes
func.func @scan_mode(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C9: expected a serial scan iterator, found k vector}}
  loop.nest (k = 8 scan vector) ins(%a[k] : memref<8xf32>) outs(%b[k] init 0.0 : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C9, a reduction beside it
func.func @scan_reduction(%a: memref<8x4xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C9: expected no reduction beside the scan iterator k, found r}}
  loop.nest (k = 8 scan, r = 4 reduction) ins(%a[k, r] : memref<8x4xf32>) outs(%b[k] init 0.0 : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C9, no init
func.func @scan_init(%a: memref<8xf32>, %b: memref<8xf32>) {
  // expected-error @below {{'loop.nest' C9: expected an init of output 0, over which k scans, found none}}
  loop.nest (k = 8 scan) ins(%a[k] : memref<8xf32>) outs(%b[k] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// -----

// C9, an output that clips
func.func @scan_clip(%a: memref<8xf32>, %b: memref<4xf32>) {
  // expected-error @below {{'loop.nest' C9: expected output 0, over which k scans, not to clip}}
  loop.nest (k = 8 scan) ins(%a[k] : memref<8xf32>) outs(%b[k] init 0.0 clip : memref<4xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}
