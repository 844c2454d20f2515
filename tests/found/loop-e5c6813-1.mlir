// RUN: python -m inarch.testing.generate --file %s --target generic
// FOUND: definition: of two reductions of one term the second folded what the first had left there
builtin.module {
  func.func @main(%x: memref<4x5xf32>, %y: memref<4xf32> {inarch.result}, %z: memref<4xf32> {inarch.result}) {
    loop.nest (i = 4, r = 5 reduction) ins(%x[i, r] : memref<4x5xf32>) outs(%y[i] init 0.0 : memref<4xf32>, %z[i] init 1.0 : memref<4xf32>) {
    ^bb0(%e: f32, %a: f32, %b: f32):
      %t = arith.mulf %e, %e : f32
      %0 = arith.addf %a, %t : f32
      %1 = arith.mulf %b, %t : f32
      loop.yield %0, %1 : f32, f32
    }
    func.return
  }
}
