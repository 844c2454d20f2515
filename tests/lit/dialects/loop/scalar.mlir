// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @remainder(
// CHECK-NEXT: loop.remf %a, %b : f64
func.func @remainder(%a: f64, %b: f64) {
  %0 = loop.remf %a, %b : f64
  func.return
}

// Linear in the iterators of the nest; what has a coefficient of 0 is left out.
// CHECK-LABEL: func.func @points(
// CHECK:       = loop.point i * 4 + k : index
// CHECK-NEXT:  = loop.point -k + 3 {note} : index
// CHECK-NEXT:  = loop.point 7 : index
// CHECK-NEXT:  = loop.point k * 5 : index
// CHECK:       finish
// CHECK:       = loop.point i : index
func.func @points(%y: memref<8xi64>) {
  loop.nest (i = 8, k = 4 reduction) outs(%y[i] init 0 : memref<8xi64>) {
  ^bb0(%acc: i64):
    %0 = loop.point i * 4 + k : index
    %1 = loop.point 3 - k {note} : index
    %2 = loop.point 0 * i + 7 : index
    %3 = loop.point (k + i) * 2 + 3 * k - i * 2 : index
    %p = arith.index_cast %0 : index to i64
    %s = arith.addi %acc, %p : i64
    loop.yield %s : i64
  } finish {
  ^bb0(%acc: i64):
    %0 = loop.point i : index
    %p = arith.index_cast %0 : index to i64
    %s = arith.addi %acc, %p : i64
    loop.yield %s : i64
  }
  func.return
}
