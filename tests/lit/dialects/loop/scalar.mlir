// RUN: inarch-opt %s | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @remainder(
// CHECK-NEXT: loop.remf %a, %b : f64
func.func @remainder(%a: f64, %b: f64) {
  %0 = loop.remf %a, %b : f64
  func.return
}
