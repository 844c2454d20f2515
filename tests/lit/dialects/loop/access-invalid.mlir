// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{Expected integer literal}}
builtin.module attributes {a = #loop.iterator<i = -1>} {}

// -----

// The generic form holds a read without pad to its buffer as well.
func.func @generic(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{C3: index i + 1 of dimension 0 runs from 1 to 4, outside a size of 4}}
  "loop.nest"(%x, %y) <{iterators = [#loop.iterator<i = 4>], reads = [#loop.read<affine_map<(d0) -> (d0 + 1)>, none>], writes = [#loop.write<affine_map<(d0) -> (d0)>, none, "none">], operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%a: f32, %o: f32):
    "loop.yield"(%a) : (f32) -> ()
  }) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// -----

func.func @unknown_word(%x: memref<4xf32>) {
  // expected-error @below {{expected [reduction|scan] [parallel|unroll|vector] behind a size, found 'sideways'}}
  loop.nest (i = 4 sideways) outs(%x[i] : memref<4xf32>) {
  ^bb0(%o: f32):
    loop.yield %o : f32
  }
  func.return
}
