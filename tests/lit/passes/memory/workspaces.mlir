// RUN: inarch-opt %s -p plan-memory --split-input-file | filecheck %s

// What a loop uses from outside is alive as long as the loop runs; what it allocates, within an iteration: %a and
// %b share their place, %kept has one of its own.
// CHECK-LABEL: func.func @outside
// CHECK-SAME: inarch.workspace_bytes = 192 : i64
func.func @outside(%y: memref<4x16xf32> {inarch.result}) {
  %c = arith.constant 1.0 : f32
  %z = arith.constant 0 : index
  // CHECK: loop.alloc at 128 : memref<16xf32>
  %kept = loop.alloc : memref<16xf32>
  memref.store %c, %kept[%z] : memref<16xf32>
  loop.for %i = 0 to 4 {
    %x = memref.load %kept[%z] : memref<16xf32>
    // CHECK: loop.alloc at 0 : memref<16xf32>
    %a = loop.alloc : memref<16xf32>
    memref.store %x, %a[%z] : memref<16xf32>
    %v = memref.load %a[%z] : memref<16xf32>
    // CHECK: loop.alloc at 0 : memref<32xf32>
    %b = loop.alloc : memref<32xf32>
    memref.store %v, %b[%z] : memref<32xf32>
    %w = memref.load %b[%z] : memref<32xf32>
    memref.store %w, %y[%i, %z] : memref<4x16xf32>
    loop.yield
  }
  func.return
}

// -----

// A private function has a workspace, in that of its caller: for each thread that may share its loop.
// CHECK-LABEL: func.func @caller
// CHECK-SAME: inarch.workspace_bytes = 384 : i64
// CHECK-NEXT: loop.call @shared(%y) at 0 for 3 : memref<4x16xf32>
// CHECK-NEXT: loop.call @outer(%y) at 0 : memref<4x16xf32>
// CHECK: func.func private @outer
// CHECK-SAME: inarch.workspace_bytes = 256 : i64
// CHECK: loop.alloc at 128 : memref<8xf32>
// CHECK: loop.call @shared(%y) at 0 : memref<4x16xf32>
// CHECK: func.func private @shared
// CHECK-SAME: inarch.workspace_bytes = 128 : i64
// CHECK: loop.alloc at 0 : memref<16xf32>
module attributes {inarch.threads = 3 : i64} {
  func.func @caller(%y: memref<4x16xf32> {inarch.result}) {
    loop.call @shared(%y) : memref<4x16xf32>
    loop.call @outer(%y) : memref<4x16xf32>
    func.return
  }
  func.func private @outer(%y: memref<4x16xf32>) {
    %c = arith.constant 1.0 : f32
    %z = arith.constant 0 : index
    %kept = loop.alloc : memref<8xf32>
    memref.store %c, %kept[%z] : memref<8xf32>
    loop.call @shared(%y) : memref<4x16xf32>
    %x = memref.load %kept[%z] : memref<8xf32>
    memref.store %x, %y[%z, %z] : memref<4x16xf32>
    func.return
  }
  func.func private @shared(%y: memref<4x16xf32>) {
    %c = arith.constant 2.0 : f32
    %z = arith.constant 0 : index
    loop.for %i = 0 to 4 parallel {
      %a = loop.alloc : memref<16xf32>
      memref.store %c, %a[%z] : memref<16xf32>
      %x = memref.load %a[%z] : memref<16xf32>
      memref.store %x, %y[%i, %z] : memref<4x16xf32>
      loop.yield
    }
    func.return
  }
}
