// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @loops(
// CHECK-NEXT: loop.for %i = 0 to 8 {
// CHECK-NEXT: %x = memref.load %a[%i] : memref<8xf32>
// CHECK-NEXT: memref.store %x, %b[%i] : memref<8xf32>
// CHECK-NEXT: loop.yield
// CHECK-NEXT: }
// CHECK-NEXT: loop.for %k = -2 to 9 step 3 parallel {
// CHECK-NEXT: loop.for %j = 0 to 4 unroll {
// CHECK-NEXT: loop.yield
// CHECK-NEXT: }
// CHECK-NEXT: loop.yield
// CHECK-NEXT: } {note = 1 : i64}
func.func @loops(%a: memref<8xf32>, %b: memref<8xf32>) {
  loop.for %i = 0 to 8 {
    %x = memref.load %a[%i] : memref<8xf32>
    memref.store %x, %b[%i] : memref<8xf32>
    loop.yield
  }
  loop.for %k = -2 to 9 step 3 parallel {
    loop.for %j = 0 to 4 unroll {
      loop.yield
    }
    loop.yield
  } {note = 1 : i64}
  func.return
}

// CHECK: func.func private @f(memref<8xf32>, memref<8xf32>) -> ()
func.func private @f(memref<8xf32>, memref<8xf32>) -> ()
// CHECK: func.func private @g() -> ()
func.func private @g() -> ()
// CHECK-LABEL: func.func @calls(
// CHECK-NEXT: loop.call @f(%a, %b) : memref<8xf32>, memref<8xf32>
// CHECK-NEXT: loop.call @g() :
func.func @calls(%a: memref<8xf32>, %b: memref<8xf32>) {
  loop.call @f(%a, %b) : memref<8xf32>, memref<8xf32>
  loop.call @g() :
  func.return
}

// Accesses that look as if they were outside, and are not: i - i, a loop without iterations, one under a condition.
// CHECK-LABEL: func.func @inside
func.func @inside(%a: memref<4xf32>, %n: index) {
  %nine = arith.constant 9 : index
  loop.for %i = 0 to 100 {
    %0 = arith.subi %i, %i : index
    %x = memref.load %a[%0] : memref<4xf32>
    %below = arith.cmpi ult, %i, %n : index
    scf.if %below {
      %y = memref.load %a[%i] : memref<4xf32>
    }
    loop.yield
  }
  loop.for %j = 5 to 5 {
    %z = memref.load %a[%nine] : memref<4xf32>
    loop.yield
  }
  func.return
}
