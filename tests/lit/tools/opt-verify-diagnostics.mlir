// RUN: inarch-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @has_no_error
func.func @has_no_error(%a: tensor<2xf32>) -> tensor<2xf32> {
  func.return %a : tensor<2xf32>
}

// -----

func.func @expects_below(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{C2: shapes (2,) and (3,) do not broadcast}}
  %c = graph.add %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @expects_above(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %c = graph.add %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  // expected-error @above {{C2}}
  func.return
}

// -----

// expected-error-re @+2 {{shapes {{\(\d,\)}} and}}
func.func @expects_at_a_distance(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %c = graph.add %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----

func.func @expects_on_this_line(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %c = graph.add %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32> // expected-error {{C2}}
  func.return
}

// -----

func.func @expects_a_parse_error() {
  // expected-error @below {{operand expected}}
  graph.add 5
}

// -----

func.func @expects_the_model_node(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @unknown {{C2}}
  %c = graph.add %a, %b : tensor<2xf32>, tensor<3xf32> -> tensor<3xf32> loc("conv0")
  func.return
}

// -----

// CHECK-LABEL: func.func @comes_last
func.func @comes_last() {
  func.return
}
