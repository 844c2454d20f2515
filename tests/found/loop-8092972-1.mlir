// RUN: python -m inarch.testing.generate --file %s --target generic
// FOUND: differs: an unsigned minimum was taken for the minimum of a meaning, which is of signed numbers
builtin.module {
  func.func @main(%x: memref<4x40xi8>, %y: memref<4xi8> {inarch.result}) {
    loop.nest (i = 4, r = 40 reduction) ins(%x[i, r] : memref<4x40xi8>) outs(%y[i] init 100 : memref<4xi8>) {
    ^bb0(%e: i8, %acc: i8):
      %0 = arith.minui %acc, %e : i8
      loop.yield %0 : i8
    }
    func.return
  }
}
