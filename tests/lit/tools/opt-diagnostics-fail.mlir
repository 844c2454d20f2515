// RUN: not inarch-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: opt-diagnostics-fail.mlir:[[BAD:[0-9]+]]:3: error: unexpected error: 'graph.add' C2: shapes (2,) and (3,) do not broadcast
func.func @does_not_expect_its_error(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %c = graph.add %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: opt-diagnostics-fail.mlir:[[AT:[0-9]+]]: error: expected an error on line {{[0-9]+}}, found none: anything
func.func @expects_too_much() {
  // expected-error @below {{anything}}
  func.return
}

// -----

// CHECK: unexpected error: 'graph.add' C2
// CHECK: found none: other words
func.func @expects_other_words(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{other words}}
  %c = graph.add %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

// CHECK: error: expected a warning on line {{[0-9]+}}, found none: anything
// CHECK: error: expected a remark without a line, found none: anything
func.func @expects_another_kind(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-warning @below {{anything}}
  func.return
  // expected-remark @unknown {{anything}}
}

// -----

// CHECK: expected `expected-error|warning|remark[-re] [@below|@above|@+N|@-N|@this-line|@unknown] {{.*}}, found `// expected-
// CHECK-SAME: note {{.*}}`
// expected-note @below {{nothing}}
func.func @expects_a_note() {
  func.return
}
