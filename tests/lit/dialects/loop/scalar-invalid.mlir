// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// Operands of two types cannot be written in the custom form.
func.func @remainder_of_two_types(%a: f32, %b: f64) {
  // expected-error @below {{'loop.remf' operand 'b' at position 1 does not verify}}
  %0 = "loop.remf"(%a, %b) : (f32, f64) -> f32
  func.return
}
