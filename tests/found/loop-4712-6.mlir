// RUN: python -m inarch.testing.generate --file %s --target generic
// FOUND: refused: a parallel loop that reads the number of the loop around it from memory, in rows that kernels have by address
builtin.module {
  func.func @main(%b1: memref<28x1xf32>, %b2: memref<1x34xf32>, %b3: memref<28x34xf32> {inarch.result}) {
    loop.for %i4 = 0 to 28 step 14 {
      %s6 = memref.subview %b1[%i4, 0] [14, 1] [1, 1] : memref<28x1xf32> to memref<14x1xf32, strided<[1, 1], offset: ?>>
      loop.for %j5 = 0 to 34 step 17 parallel {
        %s7 = memref.subview %b2[0, %j5] [1, 17] [1, 1] : memref<1x34xf32> to memref<1x17xf32, strided<[34, 1], offset: ?>>
        %s8 = memref.subview %b3[%i4, %j5] [14, 17] [1, 1] : memref<28x34xf32> to memref<14x17xf32, strided<[34, 1], offset: ?>>
        loop.nest (n = 17, m = 14, k = 1 reduction) ins(%s6[m, k] : memref<14x1xf32, strided<[1, 1], offset: ?>>, %s7[k, n] : memref<1x17xf32, strided<[34, 1], offset: ?>>) outs(%s8[m, n] init 0.0 : memref<14x17xf32, strided<[34, 1], offset: ?>>) {
        ^bb0(%x10: f32, %x11: f32, %o12: f32):
          %v9 = arith.addf %x10, %x11 : f32
          %v9_1 = arith.addf %o12, %v9 : f32
          loop.yield %v9_1 : f32
        }
        loop.nest (m = 14, n = 17) ins(%s8[m, n] : memref<14x17xf32, strided<[34, 1], offset: ?>>) outs(%s8[m, n] : memref<14x17xf32, strided<[34, 1], offset: ?>>) {
        ^bb0(%x14: f32, %o15: f32):
          %v13 = arith.constant 2.000000e+00 : f32
          %v13_1 = arith.constant 9.999950e-41 : f32
          %v13_2 = arith.cmpf uge, %x14, %v13_1 : f32
          %v13_3 = arith.select %v13_2, %x14, %v13 : f32
          loop.yield %v13_3 : f32
        }
        %t16 = loop.alloc : memref<14xf32>
        loop.nest (m = 14, n = 17 reduction) ins(%s8[m, n] : memref<14x17xf32, strided<[34, 1], offset: ?>>) outs(%t16[m] init 0.0 : memref<14xf32>) {
        ^bb0(%x18: f32, %o19: f32):
          %v17 = arith.addf %o19, %x18 : f32
          loop.yield %v17 : f32
        }
        loop.nest (m = 14, n = 17) ins(%s8[m, n] : memref<14x17xf32, strided<[34, 1], offset: ?>>, %t16[m] : memref<14xf32>) outs(%s8[m, n] : memref<14x17xf32, strided<[34, 1], offset: ?>>) {
        ^bb0(%x21: f32, %x22: f32, %o23: f32):
          %v20 = arith.maximumf %x21, %x22 : f32
          loop.yield %v20 : f32
        }
        loop.yield
      }
      loop.yield
    }
    func.return
  }
}
