// RUN: not inarch-opt %s --split-input-file 2>&1 | filecheck %s

// Every piece is processed; lines are those of the whole file.
// CHECK: opt-split-errors.mlir:10:3: error: 'func.call' '@nowhere' could not be found in symbol table
// CHECK: opt-split-errors.mlir:17:13: error: operand expected
// CHECK: func.func @third


func.func @first() {
  func.call @nowhere() : () -> ()
  func.return
}

// -----

func.func @second() {
  graph.add 5
  func.return
}

// -----

func.func @third() {
  func.return
}
