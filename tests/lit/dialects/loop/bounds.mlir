// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// Loops whose bounds and steps are values, or some of them.
// CHECK:      loop.for %i = %low to %high step %step {
// CHECK:      loop.for %j = 0 to %high {
// CHECK-NEXT:   loop.for %k = %j to 8 step 2 {
// CHECK:      loop.for %l = -1 to 1152921504606846976 step %step {
func.func @bounds(%low: index, %high: index, %step: index) {
  loop.for %i = %low to %high step %step {
    loop.yield
  }
  loop.for %j = 0 to %high {
    loop.for %k = %j to 8 step 2 {
      loop.yield
    }
    loop.yield
  }
  loop.for %l = -1 to 1152921504606846976 step %step {
    loop.yield
  }
  func.return
}

// Parallel: the rows below the diagonal are of one iteration each.
// CHECK:      loop.for %i = 0 to 8 parallel {
// CHECK-NEXT:   loop.for %j = 0 to %i step %step {
func.func @triangle(%x: memref<8x8xf32>, %step: index) {
  loop.for %i = 0 to 8 parallel {
    loop.for %j = 0 to %i step %step {
      %0 = memref.load %x[%i, %j] : memref<8x8xf32>
      memref.store %0, %x[%i, %i] : memref<8x8xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}

// Tiles of a loop of any length that are apart, and a step that is a constant.
// CHECK:      loop.for %i = 0 to %n step %{{.*}} parallel {
func.func @tiles(%x: memref<64xf32>, %n: index) {
  %four = arith.constant 4 : index
  loop.for %i = 0 to %n step %four parallel {
    %part = memref.subview %x[%i] [4] [1] : memref<64xf32> to memref<4xf32, strided<[1], offset: ?>>
    loop.nest (k = 4) outs(%part[k] : memref<4xf32, strided<[1], offset: ?>>) {
    ^bb0(%0: f32):
      %1 = arith.addf %0, %0 : f32
      loop.yield %1 : f32
    }
    loop.yield
  }
  func.return
}

// Nothing is said of an access in a loop that may have no iteration.
func.func @unchecked(%x: memref<8xf32>, %n: index) {
  %far = arith.constant 9 : index
  loop.for %i = 0 to %n {
    %0 = memref.load %x[%far] : memref<8xf32>
    loop.yield
  }
  func.return
}
