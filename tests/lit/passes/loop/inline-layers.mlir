// RUN: inarch-opt %s -p inline-layers --print-debuginfo | filecheck %s

// A constant goes to the start of the caller, scratch to each call, and each nest is where its own layer was.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    %w = loop.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NEXT:    %w_1 = loop.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NEXT:    %y = loop.alloc
// CHECK-NEXT:    %s = loop.alloc
// CHECK-NEXT:    loop.nest (i = 2) ins(%x[i] : memref<2xf32>) outs(%s[i] : memref<2xf32>) {
// CHECK:         } loc("exp 1")
// CHECK-NEXT:    loop.nest (i = 2) ins(%s[i] : memref<2xf32>, %w_1[i] : memref<2xf32>) outs(%y[i] : memref<2xf32>) {
// CHECK:         } loc(fused["exp 1", "add 1"])
// CHECK-NEXT:    %s_1 = loop.alloc
// CHECK-NEXT:    loop.nest (i = 2) ins(%y[i] : memref<2xf32>) outs(%s_1[i] : memref<2xf32>) {
// CHECK:         } loc("exp 2")
// CHECK-NEXT:    loop.nest (i = 2) ins(%s_1[i] : memref<2xf32>, %w[i] : memref<2xf32>) outs(%out[i] : memref<2xf32>) {
// CHECK:         } loc(fused["exp 2", "add 2"])
// CHECK-NEXT:    func.return
// CHECK-NOT: func.func
func.func @main(%x: memref<2xf32>, %out: memref<2xf32> {inarch.result}) {
  %y = loop.alloc : memref<2xf32>
  loop.call @layer(%x, %y) {inarch.locations = [loc("exp 1"), loc("add 1")]} : memref<2xf32>, memref<2xf32>
  loop.call @layer(%y, %out) {inarch.locations = [loc("exp 2"), loc("add 2")]} : memref<2xf32>, memref<2xf32>
  func.return
}
func.func private @layer(%x: memref<2xf32>, %out: memref<2xf32> {inarch.result}) attributes {inarch.layer, inarch.locations = [loc("exp 1"), loc("add 1")]} {
  %w = loop.constant dense<[1.0, 2.0]> : tensor<2xf32> : memref<2xf32>
  %s = loop.alloc : memref<2xf32>
  loop.nest (i = 2) ins(%x[i] : memref<2xf32>) outs(%s[i] : memref<2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = math.exp %a : f32
    loop.yield %c : f32
  } loc("exp 1")
  loop.nest (i = 2) ins(%s[i] : memref<2xf32>, %w[i] : memref<2xf32>) outs(%out[i] : memref<2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.addf %a, %b : f32
    loop.yield %d : f32
  } loc(fused["exp 1", "add 1"])
  func.return
}
