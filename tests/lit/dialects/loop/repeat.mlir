// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @loops(
// CHECK:      loop.while %i = %a to %b step %c if %go : memref<i1> {
// CHECK-NEXT:   loop.while %j = %i to %b step %one {
// CHECK-NEXT:     loop.yield
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.yield
// CHECK-NEXT: } {note = 1 : i64}
func.func @loops(%a: index, %b: index, %c: index, %go: memref<i1>) {
  %one = arith.constant 1 : index
  loop.while %i = %a to %b step %c if %go : memref<i1> {
    loop.while %j = %i to %b step %one {
      loop.yield
    }
    loop.yield
  } {note = 1 : i64}
  func.return
}

// The condition may be a view; accesses at an index of which nothing is known are not checked.
// CHECK-LABEL: func.func @views(
func.func @views(%x: memref<4xf32>, %b: index, %flags: memref<3xi1>) {
  %one = arith.constant 1 : index
  %nine = arith.constant 9 : index
  %flag = memref.subview %flags[2] [1] [1] : memref<3xi1> to memref<i1, strided<[], offset: 2>>
  // CHECK: loop.while %i = %one to %b step %nine if %flag : memref<i1, strided<[], offset: 2>> {
  loop.while %i = %one to %b step %nine if %flag : memref<i1, strided<[], offset: 2>> {
    %y = memref.load %x[%i] : memref<4xf32>
    %z = memref.load %x[%nine] : memref<4xf32>
    loop.yield
  }
  func.return
}
