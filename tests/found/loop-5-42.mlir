// RUN: python -m inarch.testing.generate --file %s --target generic
// FOUND: refused: a parallel loop that uses the number of the one around it, which has one iteration
builtin.module {
  func.func @main(%b1: memref<1x64xf32>, %b2: memref<64x144xf32>, %b3: memref<1x144xf32> {inarch.result}) {
    %b18 = arith.constant 0 : index
    %b18_1 = arith.constant -1 : index
    %b18_2 = arith.constant 2 : index
    %b18_3 = arith.addi %b18_1, %b18_2 : index
    loop.for %i4 = %b18 to %b18_3 parallel {
      %s6 = memref.subview %b1[%i4, 0] [1, 64] [1, 1] : memref<1x64xf32> to memref<1x64xf32, strided<[64, 1], offset: ?>>
      %b17 = arith.constant 0 : index
      loop.for %j5 = %b17 to 144 step 48 parallel {
        %s7 = memref.subview %b2[0, %j5] [64, 48] [1, 1] : memref<64x144xf32> to memref<64x48xf32, strided<[144, 1], offset: ?>>
        %s8 = memref.subview %b3[%i4, %j5] [1, 48] [1, 1] : memref<1x144xf32> to memref<1x48xf32, strided<[144, 1], offset: ?>>
        %t9 = loop.alloc : memref<1x48xf32>
        loop.nest (m = 1, n = 48, k = 64 reduction) ins(%s6[m, k] : memref<1x64xf32, strided<[64, 1], offset: ?>>, %s7[k, n] : memref<64x48xf32, strided<[144, 1], offset: ?>>) outs(%t9[m, n] init 0.0 : memref<1x48xf32>) {
        ^bb0(%x11: f32, %x12: f32, %o13: f32):
          %v10 = arith.subf %x11, %x12 : f32
          %v10_1 = arith.addf %o13, %v10 : f32
          loop.yield %v10_1 : f32
        }
        loop.nest (m = 1, n = 48) ins(%t9[m, n] : memref<1x48xf32>) outs(%s8[m, n] : memref<1x48xf32, strided<[144, 1], offset: ?>>) {
        ^bb0(%x15: f32, %o16: f32):
          %v14 = arith.constant 1 : i32
          %v14_1 = math.fpowi %x15, %v14 : f32, i32
          loop.yield %v14_1 : f32
        }
        loop.yield
      }
      loop.yield
    }
    func.return
  }
}
