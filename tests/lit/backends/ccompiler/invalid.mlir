// T4: what the backend has no C for is refused at its place, when it is forced upon the backend.
// RUN: inarch-opt %s -t ccompiler --split-input-file --verify-diagnostics

func.func @op(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{backend 'ccompiler' has no C for 'graph.relu': takes add, sub, mul}}
  %0 = graph.relu %a : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----
func.func @broadcast(%a: tensor<2x4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{backend 'ccompiler' has no C for 'graph.add': shapes [2, 4] and [4]; takes equal ones (no broadcasting)}}
  %0 = graph.add %a, %b : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----
func.func @broadcast_of_one_rank(%a: tensor<2x4xf32>, %b: tensor<1x4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{backend 'ccompiler' has no C for 'graph.add': shapes [2, 4] and [1, 4]; takes equal ones (no broadcasting)}}
  %0 = graph.add %a, %b : tensor<2x4xf32>, tensor<1x4xf32> -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----
func.func @dtype(%a: tensor<4xi16>) -> tensor<4xi16> {
  // expected-error @below {{backend 'ccompiler' has no C for 'graph.mul': dtype i16; takes f32, f64, i8, i32, i64, ui8, ui32, ui64}}
  %0 = graph.mul %a, %a : tensor<4xi16>, tensor<4xi16> -> tensor<4xi16>
  func.return %0 : tensor<4xi16>
}

// -----
// expected-error @below {{backend 'ccompiler' has no C for dtype i1; takes f32, f64, i8, i32, i64, ui8, ui32, ui64}}
func.func @argument(%a: tensor<4xi1>) -> tensor<4xi1> {
  func.return %a : tensor<4xi1>
}

// -----
// A function that is marked for the backend is its symbol.
// expected-error @below {{backend 'ccompiler': expected a symbol that is a C identifier, found 'a.b'}}
func.func private @a.b(%a: tensor<4xf32>) -> tensor<4xf32> attributes {compiler = "ccompiler"} {
  func.return %a : tensor<4xf32>
}
