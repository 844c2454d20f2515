// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// alloc, C0
func.func @alloc_dynamic() {
  // expected-error @below {{'loop.alloc' C0: expected a static shape, found memref<?xf32>}}
  %0 = loop.alloc : memref<?xf32>
  func.return
}

// -----

// alloc, C1, alignment
func.func @alloc_alignment() {
  // expected-error @below {{'loop.alloc' C1: expected an offset that is a multiple of 64, found 32}}
  %0 = loop.alloc at 32 : memref<8xf32>
  func.return
}

// -----

// alloc, C1, negative
func.func @alloc_negative() {
  // expected-error @below {{'loop.alloc' C1: expected an offset that is a multiple of 64, found -64}}
  %0 = loop.alloc at -64 : memref<8xf32>
  func.return
}

// -----

// alloc, C2
func.func @alloc_strides() {
  // expected-error @below {{'loop.alloc' C2: expected a row-major buffer}}
  %0 = loop.alloc : memref<8x2xf32, strided<[1, 8]>>
  func.return
}

// -----

// constant, C0
func.func @constant_unsigned() {
  // expected-error @below {{'loop.constant' C0: expected a supported signless dtype, found memref<2xui8>}}
  %0 = loop.constant dense<[1, 2]> : tensor<2xui8> : memref<2xui8>
  func.return
}

// -----

// constant, C1
func.func @constant_alignment() {
  // expected-error @below {{'loop.constant' C1: expected an offset that is a multiple of 64, found 1}}
  %0 = loop.constant dense<[1, 2]> : tensor<2xi32> at 1 : memref<2xi32>
  func.return
}

// -----

// constant, C2
func.func @constant_offset() {
  // expected-error @below {{'loop.constant' C2: expected a row-major buffer}}
  %0 = loop.constant dense<[1, 2]> : tensor<2xi32> : memref<2xi32, strided<[1], offset: 1>>
  func.return
}

// -----

// constant, C3, the shape
func.func @constant_shape() {
  // expected-error @below {{'loop.constant' C3: expected a value of shape (1, 2), found (2,)}}
  %0 = loop.constant dense<[1, 2]> : tensor<2xi32> : memref<1x2xi32>
  func.return
}

// -----

// constant, C3, the element type
func.func @constant_type() {
  // expected-error @below {{'loop.constant' C3: expected a value of f32 elements, found i32}}
  %0 = loop.constant dense<[1, 2]> : tensor<2xi32> : memref<2xf32>
  func.return
}

// -----

// reshape, C0
func.func @reshape_dynamic(%a: memref<?xf32>) {
  // expected-error @below {{'loop.reshape' C0: expected a static shape, found memref<?xf32>}}
  %0 = loop.reshape %a : memref<?xf32> to memref<6xf32>
  func.return
}

// -----

// reshape, C1, elements
func.func @reshape_elements(%a: memref<2x3xf32>) {
  // expected-error @below {{'loop.reshape' C1: expected as many elements of one type, found memref<2x3xf32> and memref<7xf32>}}
  %0 = loop.reshape %a : memref<2x3xf32> to memref<7xf32>
  func.return
}

// -----

// reshape, C1, types
func.func @reshape_types(%a: memref<2x3xf32>) {
  // expected-error @below {{'loop.reshape' C1: expected as many elements of one type, found memref<2x3xf32> and memref<6xi32>}}
  %0 = loop.reshape %a : memref<2x3xf32> to memref<6xi32>
  func.return
}

// -----

// reshape, C2
func.func @reshape_strides(%a: memref<2x3xf32, strided<[1, 2]>>) {
  // expected-error @below {{'loop.reshape' C2: expected row-major buffers, found memref<2x3xf32, strided<[1, 2]>> and memref<6xf32>}}
  %0 = loop.reshape %a : memref<2x3xf32, strided<[1, 2]>> to memref<6xf32>
  func.return
}
