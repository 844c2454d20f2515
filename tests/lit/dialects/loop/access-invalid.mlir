// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{Expected integer literal}}
builtin.module attributes {a = #loop.iterator<i = -1>} {}

// -----

func.func @unknown_word(%x: memref<4xf32>) {
  // expected-error @below {{expected [reduction|scan] [parallel|unroll|vector] behind a size, found 'sideways'}}
  loop.nest (i = 4 sideways) outs(%x[i] : memref<4xf32>) {
  ^bb0(%o: f32):
    loop.yield %o : f32
  }
  func.return
}
