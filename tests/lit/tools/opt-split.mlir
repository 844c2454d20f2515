// RUN: inarch-opt %s --split-input-file -p dce -o %t.mlir
// RUN: filecheck %s --input-file %t.mlir
// RUN: inarch-opt --split-input-file %t.mlir | filecheck %s

// CHECK: func.func @first
// CHECK: {{^// -----$}}
// CHECK: func.func @second
func.func @first() {
  func.return
}

// -----

func.func @second() {
  func.return
}
