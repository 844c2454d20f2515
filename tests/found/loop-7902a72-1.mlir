// RUN: python -m inarch.testing.generate --file %s --target generic
// FOUND: differs: a constant without elements took the place of the one beside it, which was left zero
builtin.module {
  func.func @main(%y: memref<2xf32> {inarch.result}, %z: memref<0xf64> {inarch.result}, %w: memref<0xf64> {inarch.result}) {
    %a = loop.constant dense<> : tensor<0xf64> : memref<0xf64>
    %b = loop.constant dense<[3.0, 4.0]> : tensor<2xf32> : memref<2xf32>
    %c = loop.constant dense<> : tensor<0xf64> : memref<0xf64>
    loop.nest (i = 0) ins(%a[i] : memref<0xf64>) outs(%z[i] : memref<0xf64>) {
    ^bb0(%p: f64, %o: f64):
      loop.yield %p : f64
    }
    loop.nest (i = 2) ins(%b[i] : memref<2xf32>) outs(%y[i] : memref<2xf32>) {
    ^bb0(%p: f32, %o: f32):
      loop.yield %p : f32
    }
    loop.nest (i = 0) ins(%c[i] : memref<0xf64>) outs(%w[i] : memref<0xf64>) {
    ^bb0(%p: f64, %o: f64):
      loop.yield %p : f64
    }
    func.return
  }
}
