// T9: dtypes, attributes, constants, several outputs and several functions: the extension of the syntax.
// RUN: inarch-opt %s -t examplejson | filecheck %s --strict-whitespace --match-full-lines

//      CHECK:subgraph_0
// CHECK-NEXT:  input 0 2 3 dtype: f64
// CHECK-NEXT:  constant 1 shape: 3 dtype: f64 data: 0.1 -0.0 1e+300
// CHECK-NEXT:  add 2 inputs: 0 1 shape: 2 3 dtype: f64
// CHECK-NEXT:  transpose 3 inputs: 2 shape: 3 2 dtype: f64 attrs: perm=1,0
// CHECK-NEXT:  reduce_sum 4 inputs: 2 shape: 1 3 dtype: f64 attrs: axes=0 keepdims=true
// CHECK-NEXT:  clip 5 inputs: 4 shape: 1 3 dtype: f64 attrs: low=0.0 high=6.0
// CHECK-NEXT:  outputs: 3 5
func.func private @examplejson_0(%x: tensor<2x3xf64>) -> (tensor<3x2xf64>, tensor<1x3xf64>) attributes {compiler = "examplejson"} {
  %k = graph.constant dense<[0.1, -0.0, 1.0e300]> : tensor<3xf64>
  %0 = graph.add %x, %k : tensor<2x3xf64>, tensor<3xf64> -> tensor<2x3xf64>
  %1 = graph.transpose %0 perm = [1, 0] : tensor<2x3xf64> -> tensor<3x2xf64>
  %2 = graph.reduce_sum %0 axes = [0] keepdims = true : tensor<2x3xf64> -> tensor<1x3xf64>
  %3 = graph.clip %2 low = 0.0 high = 6.0 : tensor<1x3xf64> -> tensor<1x3xf64>
  func.return %1, %3 : tensor<3x2xf64>, tensor<1x3xf64>
}

// A name of another form is in the header; more than 16 elements are base64; a mask is i1.
// CHECK-NEXT:subgraph_1 name: rest
// CHECK-NEXT:  input 0
// CHECK-NEXT:  input 1 4 dtype: i1
// CHECK-NEXT:  constant 2 shape: 20 dtype: i8 base64: BwcHBwcHBwcHBwcHBwcHBwcHBwc=
// CHECK-NEXT:  concat 3 inputs: 2 2 shape: 40 dtype: i8 attrs: axis=0
// CHECK-NEXT:  slice 4 inputs: 1 shape: 2 dtype: i1 attrs: starts=3 steps=-1
// CHECK-NEXT:  reshape 5 inputs: 0 shape: 1 1
// CHECK-NEXT:  softmax 6 inputs: 5 shape: 1 1 attrs: axis=-1
// CHECK-NEXT:  outputs: 6 4 3 0
//  CHECK-NOT:{{.}}
func.func private @rest(%s: tensor<f32>, %m: tensor<4xi1>) -> (tensor<1x1xf32>, tensor<2xi1>, tensor<40xi8>, tensor<f32>) attributes {compiler = "examplejson"} {
  %k = graph.constant dense<7> : tensor<20xi8>
  %0 = graph.concat %k, %k axis = 0 : tensor<20xi8>, tensor<20xi8> -> tensor<40xi8>
  %1 = graph.slice %m starts = [3] sizes = [2] steps = [-1] : tensor<4xi1> -> tensor<2xi1>
  %2 = graph.reshape %s shape = [1, 1] : tensor<f32> -> tensor<1x1xf32>
  %3 = graph.softmax %2 axis = -1 : tensor<1x1xf32> -> tensor<1x1xf32>
  func.return %3, %1, %0, %s : tensor<1x1xf32>, tensor<2xi1>, tensor<40xi8>, tensor<f32>
}
