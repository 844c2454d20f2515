// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// CHECK-LABEL: func.func @alloc(
// CHECK-NEXT: %0 = loop.alloc : memref<8x2xf32>
// CHECK-NEXT: %1 = loop.alloc at 128 : memref<8xi1>
// CHECK-NEXT: %2 = loop.alloc {note} : memref<0xf64>
func.func @alloc() {
  %0 = loop.alloc : memref<8x2xf32>
  %1 = loop.alloc at 128 : memref<8xi1>
  %2 = loop.alloc {note} : memref<0xf64>
  func.return
}

// CHECK-LABEL: func.func @constant(
// CHECK-NEXT: %0 = loop.constant dense<[1, 2]> : tensor<2xi32> : memref<2xi32>
// CHECK-NEXT: %1 = loop.constant dense<0.000000e+00> : tensor<64x4xf32> at 64 : memref<64x4xf32>
// CHECK-NEXT: %2 = loop.constant dense<[1, 255]> : tensor<2xui8> : memref<2xi8>
func.func @constant() {
  %0 = loop.constant dense<[1, 2]> : tensor<2xi32> : memref<2xi32>
  %1 = loop.constant dense<0.000000e+00> : tensor<64x4xf32> at 64 : memref<64x4xf32>
  %2 = loop.constant dense<[1, 255]> : tensor<2xui8> : memref<2xi8>
  func.return
}

// CHECK-LABEL: func.func @reshape(
// CHECK-NEXT: %0 = loop.reshape %a : memref<2x3xf32> to memref<6x1xf32>
func.func @reshape(%a: memref<2x3xf32>) {
  %0 = loop.reshape %a : memref<2x3xf32> to memref<6x1xf32>
  func.return
}
