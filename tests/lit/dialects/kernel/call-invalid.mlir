// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// C0
func.func @dynamic(%a: memref<?xf32>) {
  // expected-error @below {{'kernel.call' C0: expected a static shape, found memref<?xf32>}}
  kernel.call @dynamic(%a) [8] : memref<?xf32>
  func.return
}

// -----

// C0, strides
func.func @strides(%a: memref<8xf32, strided<[?]>>) {
  // expected-error @below {{'kernel.call' C0: expected static strides and offset, found memref<8xf32, strided<[?]>>}}
  kernel.call @strides(%a) [8] : memref<8xf32, strided<[?]>>
  func.return
}

// -----

// C1
func.func @sizes(%a: memref<8xf32>) {
  // expected-error @below {{'kernel.call' C1: expected sizes >= 0, found [8, -1]}}
  kernel.call @sizes(%a) [8, -1] : memref<8xf32>
  func.return
}

// -----

// C2
func.func @nothing() {
  // expected-error @below {{'kernel.call' C2: expected at least one operand, found none}}
  kernel.call @nothing() [8] :
  func.return
}

// -----

// A callee that is not there
func.func @missing(%a: memref<8xf32>) {
  // expected-error @below {{'kernel.call' callee refers to no symbol @gemm; known: @missing}}
  kernel.call @gemm(%a) [8] : memref<8xf32>
  func.return
}
