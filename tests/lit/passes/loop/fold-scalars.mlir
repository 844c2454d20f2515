// RUN: inarch-opt %s --split-input-file -p fold-scalars | filecheck %s

// CHECK-LABEL: @a_number_in_the_body_and_in_finish
func.func @a_number_in_the_body_and_in_finish(%x: memref<4x8xf32>, %y: memref<4xf32> {inarch.result}) {
  %three = loop.constant dense<3.0> : tensor<1xf32> : memref<1xf32>
  %six = loop.constant dense<6.0> : tensor<f32> : memref<f32>
  loop.nest (i = 4, k = 8 reduction) ins(%three[0] : memref<1xf32>, %x[i, k] : memref<4x8xf32>, %six[] : memref<f32>) outs(%y[i] init 0.0 : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %acc: f32):
    %p = arith.mulf %b, %a : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  } finish {
  ^bb0(%a: f32, %b: f32, %c: f32, %acc: f32):
    %m = arith.minimumf %acc, %c : f32
    loop.yield %m : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 4, k = 8 reduction) ins(%x[i, k] : memref<4x8xf32>) outs(%y[i] init 0.0 : memref<4xf32>) {
// CHECK-NEXT: ^bb0(%[[B:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK-NEXT:   %[[THREE:.*]] = arith.constant 3.000000e+00 : f32
// CHECK-NEXT:   arith.mulf %[[B]], %[[THREE]] : f32
// CHECK:      } finish {
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %[[SUM:.*]]: f32):
// CHECK-NEXT:   %[[SIX:.*]] = arith.constant 6.000000e+00 : f32
// CHECK-NEXT:   arith.minimumf %[[SUM]], %[[SIX]] : f32

// -----

// CHECK-LABEL: @keeps_what_is_more_than_one_number
func.func @keeps_what_is_more_than_one_number(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
  %c = loop.constant dense<3.0> : tensor<4xf32> : memref<4xf32>
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>, %c[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    loop.yield %p : f32
  }
  func.return
}
// CHECK: ins(%x[i] : memref<4xf32>, %c[i] : memref<4xf32>)

// -----

// CHECK-LABEL: @keeps_the_only_operand
func.func @keeps_the_only_operand(%y: memref<4xi32> {inarch.result}) {
  %c = loop.constant dense<3> : tensor<1xi32> : memref<1xi32>
  loop.nest (i = 4) ins(%c[0] : memref<1xi32>) outs(%y[i] : memref<4xi32>) {
  ^bb0(%a: i32, %o: i32):
    loop.yield %a : i32
  }
  func.return
}
// CHECK: ins(%c[0] : memref<1xi32>)
