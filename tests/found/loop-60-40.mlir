// RUN: python -m inarch.testing.generate --file %s --target x86-64-v4-on-v3
// FOUND: refused: gcc 12 ends in an internal error (convert_mode_scalar) where f32 become f64 in vectors wider than the CPU's
builtin.module {
  func.func @main(%a: memref<20xf32>, %c: memref<f64> {inarch.result}) {
    %b = loop.constant dense<[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5]> : tensor<26xf32> : memref<26xf32>
    loop.nest (r0 = 8 reduction, r1 = 12 reduction) ins(%a[r0 + 1] : memref<20xf32>, %b[-r0 * 2 - r1 + 25] : memref<26xf32>) outs(%c[] : memref<f64>) {
    ^bb0(%e0: f32, %e1: f32, %acc: f64):
      %0 = arith.extf %e0 : f32 to f64
      %1 = arith.extf %e1 : f32 to f64
      %2 = arith.constant 5.000000e-01 : f64
      %3 = arith.maximumf %1, %2 : f64
      %4 = arith.addf %0, %3 : f64
      %5 = arith.maximumf %acc, %4 : f64
      loop.yield %5 : f64
    }
    func.return
  }
}
