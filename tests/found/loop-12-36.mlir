// RUN: python -m inarch.testing.generate --file %s --start 36 --target generic
// FOUND: refused: <merged>:480:7: expected a parallel loop whose iterations threads can share, found one of %j196 whose parts are not known to write different elements; make it serial, or make the loop around it the parallel one
builtin.module {
  func.func @main(%b4: memref<3x1xf32>, %b5: memref<3x1xf32> {inarch.result}, %b8: memref<62xf32> {inarch.result}, %b9: memref<8x64x5xf32>, %b10: memref<8x5xf32> {inarch.result}, %b11: memref<8x5xi8> {inarch.result}, %b15: memref<8xi32>, %b16: memref<8xi64>, %b17: memref<28x16xf32>, %b18: memref<16x64xf32>, %b19: memref<28x64xf32> {inarch.result}, %b35: memref<f32> {inarch.result}, %b36: memref<f32> {inarch.result}, %b37: memref<7xf32> {inarch.result}, %b38: memref<8x7xf32>, %b62: memref<1xi64>, %b69: memref<3xf32> {inarch.result}, %b70: memref<14x8xf32>, %b71: memref<8x96xf32>, %b72: memref<14x96xf32> {inarch.result}) {
    %c12 = loop.constant dense<-8606288370271490909> : tensor<i64> : memref<i64>
    %t14 = loop.alloc : memref<6x3x13xf32>
    %c49 = loop.constant dense<4311832166898355763> : tensor<1xi64> : memref<1xi64>
    %b7 = arith.constant -2 : index
    %b7_1 = arith.constant 2 : index
    %b7_2 = arith.addi %b7, %b7_1 : index
    %b7_3 = arith.constant -1 : index
    %b7_4 = arith.constant 2 : index
    %b7_5 = arith.addi %b7_3, %b7_4 : index
    loop.for %i1 = %b7_2 to 3 step %b7_5 {
      %b6 = arith.constant 1 : index
      loop.for %i2 = 0 to %b6 step 2 unroll {
        %f3 = arith.constant 0 : index
        %f3_1 = arith.constant 2 : index
        %f3_2 = arith.muli %i2, %f3_1 : index
        %f3_3 = memref.load %b4[%f3, %f3_2] : memref<3x1xf32>
        %f3_4 = arith.constant 0.000000e+00 : f32
        %f3_5 = arith.subf %f3_3, %f3_4 : f32
        %f3_6 = math.cos %f3_5 : f32
        memref.store %f3_6, %b5[%i1, %i2] : memref<3x1xf32>
        loop.yield
      }
      loop.yield
    }
    loop.nest (i0 = 81) ins(%b4[2, 0] : memref<3x1xf32>, %b4[2, 0] : memref<3x1xf32>) outs(%b8[i0] clip : memref<62xf32>) {
    ^bb0(%e0: f32, %e1: f32, %acc0: f32):
      %v1 = arith.addf %e0, %e1 : f32
      %v2 = math.tanh %v1 : f32
      loop.yield %v2 : f32
    }
    loop.nest (i0 = 8, r1 = 64 reduction, i2 = 5) ins(%b9[i0, r1, i2] : memref<8x64x5xf32>) outs(%b10[i0, i2] init -inf : memref<8x5xf32>, %b11[i0, i2] init 0 : memref<8x5xi8>) {
    ^bb0(%x: f32, %value: f32, %position: i8):
      %k = loop.point r1 : index
      %p = arith.index_cast %k : index to i8
      %e = arith.negf %x : f32
      %better = arith.cmpf ogt, %e, %value : f32
      %same = arith.cmpf oeq, %e, %value : f32
      %nan = arith.cmpf une, %e, %e : f32
      %number = arith.cmpf oeq, %value, %value : f32
      %first = arith.andi %nan, %number : i1
      %either = arith.ori %better, %first : i1
      %none = arith.cmpf une, %value, %value : f32
      %both = arith.andi %nan, %none : i1
      %alike = arith.ori %same, %both : i1
      %nearer = arith.cmpi slt, %p, %position : i8
      %tie = arith.andi %alike, %nearer : i1
      %take = arith.ori %either, %tie : i1
      %v = arith.select %take, %e, %value : f32
      %q = arith.select %take, %p, %position : i8
      loop.yield %v, %q : f32, i8
    }
    loop.nest (i0 = 1) ins(%c12[] : memref<i64>, %b10[i0, 2] : memref<8x5xf32>) outs(%b11[i0 + 6, at(0)] : memref<8x5xi8>) {
    ^bb0(%e0_1: i64, %e1_1: f32, %acc0_1: i8):
      %v1_1 = arith.trunci %e0_1 : i64 to i8
      %v2_1 = arith.fptoui %e1_1 : f32 to i8
      %v3 = arith.floordivsi %v1_1, %v2_1 : i8
      loop.yield %v3 : i8
    }
    %s13 = memref.subview %b8[4] [33] [1] : memref<62xf32> to memref<33xf32, strided<[1], offset: 4>>
    loop.nest (i0 = 6, i1 = 3, i2 = 13) outs(%t14[i0, i1, i2] : memref<6x3x13xf32>) {
    ^bb0(%o: f32):
      %v1_2 = arith.constant 5.000000e-01 : f32
      loop.yield %v1_2 : f32
    }
    loop.nest (i0 = 5, r1 = 17 reduction, i2 = 3 unroll, i3 = 4 vector) outs(%t14[-i0 + 4, i2, -i3 * 3 + 10] : memref<6x3x13xf32>) {
    ^bb0(%acc0_2: f32):
      %v1_3 = arith.constant 5.000000e-01 : f32
      %v2_2 = arith.addf %acc0_2, %v1_3 : f32
      loop.yield %v2_2 : f32
    }
    loop.nest (s0 = 8 scan) ins(%b15[s0] : memref<8xi32>, %b16[-s0 + 7] : memref<8xi64>, %t14[s0, 1, 1] pad 0.0 : memref<6x3x13xf32>) outs(%b10[at(0), at(1)] : memref<8x5xf32>) {
    ^bb0(%e0_2: i32, %e1_2: i64, %e2: f32, %acc0_3: f32):
      %v1_4 = arith.bitcast %e0_2 : i32 to f32
      %v2_3 = arith.uitofp %e1_2 : i64 to f32
      %v3_1 = math.powf %v2_3, %e2 : f32
      %v4 = loop.remf %v1_4, %v3_1 : f32
      %v5 = math.tanh %v4 : f32
      %v6 = arith.subf %acc0_3, %v5 : f32
      loop.yield %v6 : f32
    } finish {
    ^bb0(%e0_3: i32, %e1_3: i64, %e2_1: f32, %acc0_4: f32):
      %w1 = arith.sitofp %e0_3 : i32 to f32
      %w2 = arith.uitofp %e1_3 : i64 to f32
      %w3 = arith.minimumf %w2, %e2_1 : f32
      %w4 = arith.subf %w1, %w3 : f32
      %w5 = arith.mulf %acc0_4, %w4 : f32
      loop.yield %w5 : f32
    }
    %b34 = arith.constant 12 : index
    %b34_1 = arith.constant 2 : index
    %b34_2 = arith.addi %b34, %b34_1 : index
    loop.for %i20 = 0 to 28 step %b34_2 {
      %s22 = memref.subview %b17[%i20, 0] [14, 16] [1, 1] : memref<28x16xf32> to memref<14x16xf32, strided<[16, 1], offset: ?>>
      %b33 = arith.constant 30 : index
      %b33_1 = arith.constant 2 : index
      %b33_2 = arith.addi %b33, %b33_1 : index
      loop.for %j21 = 0 to 64 step %b33_2 {
        %s23 = memref.subview %b18[0, %j21] [16, 32] [1, 1] : memref<16x64xf32> to memref<16x32xf32, strided<[64, 1], offset: ?>>
        %s24 = memref.subview %b19[%i20, %j21] [14, 32] [1, 1] : memref<28x64xf32> to memref<14x32xf32, strided<[64, 1], offset: ?>>
        %t25 = loop.alloc : memref<14x32xf32>
        loop.nest (n = 32, m = 14, k = 16 reduction) ins(%s22[m, k] : memref<14x16xf32, strided<[16, 1], offset: ?>>, %s23[k, n] : memref<16x32xf32, strided<[64, 1], offset: ?>>) outs(%t25[m, n] init 0.0 : memref<14x32xf32>) {
        ^bb0(%x27: f32, %x28: f32, %o29: f32):
          %v26 = math.atan2 %x27, %x28 : f32
          %v26_1 = arith.maximumf %o29, %v26 : f32
          loop.yield %v26_1 : f32
        }
        loop.nest (m = 14, n = 32) ins(%t25[m, n] : memref<14x32xf32>) outs(%s24[m, n] : memref<14x32xf32, strided<[64, 1], offset: ?>>) {
        ^bb0(%x31: f32, %o32: f32):
          %v30 = arith.constant 5.000000e-01 : f32
          %v30_1 = arith.constant 9.999950e-41 : f32
          %v30_2 = arith.cmpf ord, %x31, %v30_1 : f32
          %v30_3 = arith.select %v30_2, %x31, %v30 : f32
          %v30_4 = arith.constant -1.000000e+00 : f32
          %v30_5 = arith.maximumf %v30_3, %v30_4 : f32
          loop.yield %v30_5 : f32
        }
        loop.yield
      }
      loop.yield
    }
    loop.nest () ins(%b17[22, 5] : memref<28x16xf32>, %b19[19, 63] : memref<28x64xf32>, %b18[6, 15] pad -0.0 : memref<16x64xf32>, %t14[2, 2, 0] : memref<6x3x13xf32>, %b36[] : memref<f32>) outs(%b35[] : memref<f32>, %b36[] : memref<f32>) {
    ^bb0(%e0_4: f32, %e1_4: f32, %e2_2: f32, %e3: f32, %e4: f32, %acc0_5: f32, %acc1: f32):
      %v1_5 = arith.constant 2.000000e+00 : f32
      %v2_4 = math.copysign %e3, %v1_5 : f32
      %v3_2 = arith.subf %e2_2, %v2_4 : f32
      %v4_1 = math.copysign %e0_4, %v3_2 : f32
      %v5_1 = arith.negf %e3 : f32
      %v6_1 = arith.subf %e1_4, %v5_1 : f32
      %v7 = math.tanh %v6_1 : f32
      loop.yield %v4_1, %v7 : f32, f32
    }
    %t39 = loop.alloc : memref<i1>
    %n59 = arith.constant 0 : index
    %n60 = arith.constant 1 : index
    %n63 = arith.constant 0 : index
    %n64 = arith.constant -1 : index
    %n65 = arith.constant 7 : index
    %n66 = memref.load %b62[%n63] : memref<1xi64>
    %n67 = arith.index_cast %n66 : i64 to index
    %n68 = arith.minsi %n67, %n65 : index
    %n61 = arith.maxsi %n68, %n64 : index
    loop.while %i58 = %n59 to %n60 step %n61 {
      %n47 = arith.constant 2 : index
      %n50 = arith.constant 0 : index
      %n51 = arith.constant 0 : index
      %n52 = arith.constant 7 : index
      %n53 = memref.load %c49[%n50] : memref<1xi64>
      %n54 = arith.index_cast %n53 : i64 to index
      %n55 = arith.minsi %n54, %n52 : index
      %n48 = arith.maxsi %n55, %n51 : index
      %n56 = arith.constant 9 : index
      %f57 = arith.cmpi slt, %n47, %n48 : index
      memref.store %f57, %t39[] : memref<i1>
      loop.while %i46 = %n47 to %n48 step %n56 if %t39 : memref<i1> {
        %s40 = memref.subview %b38[%i46, 0] [1, 7] [1, 1] : memref<8x7xf32> to memref<1x7xf32, strided<[7, 1], offset: ?>>
        loop.nest (j = 7) ins(%s40[0, j] : memref<1x7xf32, strided<[7, 1], offset: ?>>) outs(%b37[j] : memref<7xf32>) {
        ^bb0(%x42: f32, %o43: f32):
          %v41 = arith.mulf %x42, %o43 : f32
          loop.yield %v41 : f32
        }
        %k44 = arith.constant 4 : index
        %f45 = arith.cmpi slt, %i46, %k44 : index
        memref.store %f45, %t39[] : memref<i1>
        loop.yield
      }
      loop.yield
    }
    loop.nest (i0 = 3) outs(%b69[i0] : memref<3xf32>) {
    ^bb0(%o_1: f32):
      %v1_6 = arith.constant 5.000000e-01 : f32
      loop.yield %v1_6 : f32
    }
    loop.nest (s0 = 5 scan) ins(%b62[0] : memref<1xi64>, %b35[] : memref<f32>) outs(%b69[at(0)] : memref<3xf32>) {
    ^bb0(%e0_5: i64, %e1_5: f32, %acc0_6: f32):
      %v1_7 = arith.sitofp %e0_5 : i64 to f32
      %v2_5 = loop.remf %v1_7, %e1_5 : f32
      %v3_3 = arith.maximumf %acc0_6, %v2_5 : f32
      loop.yield %v3_3 : f32
    } finish {
    ^bb0(%e0_6: i64, %e1_6: f32, %acc0_7: f32):
      %w1_1 = loop.point s0 : index
      %w2_1 = arith.index_cast %w1_1 : index to i1
      %w3_1 = arith.uitofp %e0_6 : i64 to f32
      %w4_1 = arith.uitofp %w2_1 : i1 to f32
      %w5_1 = arith.minimumf %e1_6, %w4_1 : f32
      %w6 = arith.addf %w3_1, %w5_1 : f32
      %w7 = arith.mulf %acc0_7, %w6 : f32
      loop.yield %w7 : f32
    }
    %b83 = arith.constant 14 : index
    loop.for %i73 = 0 to 14 step %b83 unroll {
      %s75 = memref.subview %b70[%i73, 0] [14, 8] [1, 1] : memref<14x8xf32> to memref<14x8xf32, strided<[8, 1], offset: ?>>
      %b82 = arith.constant 94 : index
      %b82_1 = arith.constant 2 : index
      %b82_2 = arith.addi %b82, %b82_1 : index
      loop.for %j74 = 0 to %b82_2 step 48 parallel {
        %s76 = memref.subview %b71[0, %j74] [8, 48] [1, 1] : memref<8x96xf32> to memref<8x48xf32, strided<[96, 1], offset: ?>>
        %s77 = memref.subview %b72[%i73, %j74] [14, 48] [1, 1] : memref<14x96xf32> to memref<14x48xf32, strided<[96, 1], offset: ?>>
        loop.nest (n = 48, m = 14, k = 8 reduction) ins(%s75[m, k] : memref<14x8xf32, strided<[8, 1], offset: ?>>, %s76[k, n] : memref<8x48xf32, strided<[96, 1], offset: ?>>) outs(%s77[m, n] init 0.0 : memref<14x48xf32, strided<[96, 1], offset: ?>>) {
        ^bb0(%x79: f32, %x80: f32, %o81: f32):
          %v78 = arith.subf %x79, %x80 : f32
          %v78_1 = arith.maximumf %o81, %v78 : f32
          loop.yield %v78_1 : f32
        }
        loop.yield
      }
      loop.yield
    }
    func.return
  }
}
