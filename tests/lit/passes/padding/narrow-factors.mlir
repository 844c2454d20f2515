// RUN: inarch-opt %s --split-input-file -p narrow-factors{always=true} | filecheck %s
// RUN: inarch-opt %s --split-input-file -p narrow-factors{always=true} --verify-semantics -o %t
// RUN: inarch-opt %s --split-input-file -p narrow-factors | filecheck %s --check-prefix=NONE

// Numbers from -128 to 127 are signed bytes; without a kernel of others nothing changes.
// CHECK-LABEL: @signed
// CHECK-NEXT: %w = loop.constant dense<{{.*}}-128, 127], [3, 0]]> : tensor<2x2xi8> : memref<2x2xi8>
// CHECK:      ins(%x[m, k] : memref<3x2xi8>, %w[k, n] : memref<2x2xi8>)
// CHECK:      %[[WIDE:.*]] = arith.extsi %b : i8 to i32
// CHECK:      arith.muli %{{.*}}, %[[WIDE]] : i32
// NONE-LABEL: @signed
// NONE:       %w[k, n] : memref<2x2xi32>
func.func @signed(%x: memref<3x2xi8>, %y: memref<3x2xi32> {inarch.result}) {
  %w = loop.constant dense<[[-128, 127], [3, 0]]> : tensor<2x2xi32> : memref<2x2xi32>
  loop.nest (m = 3, n = 2, k = 2 reduction) ins(%x[m, k] : memref<3x2xi8>, %w[k, n] : memref<2x2xi32>) outs(%y[m, n] init 0 : memref<3x2xi32>) {
  ^bb0(%a: i8, %b: i32, %acc: i32):
    %e = arith.extsi %a : i8 to i32
    %p = arith.muli %e, %b : i32
    %s = arith.addi %acc, %p : i32
    loop.yield %s : i32
  }
  func.return
}

// -----

// From 0 to 255 they are unsigned ones; a larger one keeps all as they are.
// CHECK-LABEL: @unsigned
// CHECK-NEXT: loop.constant dense<[256, 0]> : tensor<2xi32> : memref<2xi32>
// CHECK-NEXT: loop.constant dense<{{.*}}> : tensor<2xui8> : memref<2xi8>
// CHECK:      arith.extui %{{.*}} : i8 to i32
func.func @unsigned(%y: memref<2xi32> {inarch.result}) {
  %v = loop.constant dense<[200, 0]> : tensor<2xi32> : memref<2xi32>
  %w = loop.constant dense<[256, 0]> : tensor<2xi32> : memref<2xi32>
  loop.nest (n = 2) ins(%v[n] : memref<2xi32>, %w[n] : memref<2xi32>) outs(%y[n] : memref<2xi32>) {
  ^bb0(%a: i32, %b: i32, %acc: i32):
    %p = arith.muli %a, %b : i32
    loop.yield %p : i32
  }
  func.return
}
