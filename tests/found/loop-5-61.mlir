// RUN: python -m inarch.testing.generate --file %s --target generic
// FOUND: refused: a parallel loop that uses the number of the one around it, which has one iteration
builtin.module {
  func.func @main(%b4: memref<4x4xf32>, %b9: memref<3xf32>, %b10: memref<3xf32> {inarch.result}) {
    %t5 = loop.alloc : memref<3x8xf32>
    %b8 = arith.constant 1 : index
    %b8_1 = arith.constant 2 : index
    %b8_2 = arith.addi %b8, %b8_1 : index
    loop.for %i1 = 1 to %b8_2 step 3 parallel {
      %b7 = arith.constant 6 : index
      %b7_1 = arith.constant 2 : index
      %b7_2 = arith.addi %b7, %b7_1 : index
      loop.for %i2 = 1 to %b7_2 step 3 parallel {
        %f3 = arith.constant 1 : index
        %f3_1 = arith.addi %i1, %f3 : index
        %f3_2 = arith.constant 3 : index
        %f3_3 = arith.minsi %i2, %f3_2 : index
        %f3_4 = memref.load %b4[%f3_1, %f3_3] : memref<4x4xf32>
        %f3_5 = arith.constant 4 : index
        %f3_6 = arith.cmpi eq, %i2, %f3_5 : index
        scf.if %f3_6 {
          %g6 = arith.constant 5.000000e-01 : f32
          %g6_1 = arith.constant 9.999950e-41 : f32
          %g6_2 = arith.cmpf ueq, %f3_4, %g6_1 : f32
          %g6_3 = arith.select %g6_2, %f3_4, %g6 : f32
          memref.store %g6_3, %t5[%i1, %i2] : memref<3x8xf32>
        } else {
          memref.store %f3_4, %t5[%i1, %i2] : memref<3x8xf32>
        }
        loop.yield
      }
      loop.yield
    }
    loop.nest (i0 = 3) ins(%b9[i0] : memref<3xf32>) outs(%b10[i0] : memref<3xf32>) {
    ^bb0(%x: f32, %o: f32):
      loop.yield %x : f32
    }
    func.return
  }
}
