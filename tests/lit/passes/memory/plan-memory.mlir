// RUN: inarch-opt %s --split-input-file -p plan-memory | filecheck %s
// RUN: inarch-opt %s --split-input-file -p plan-memory --verify-diagnostics --remarks -o %t

// Buffers that are never alive at once share their place; an op's inputs and outputs are alive at once.
// expected-remark @below {{[plan-memory] @reuses_the_place_of_a_dead_buffer: 256 bytes of workspace, for 384 bytes of buffers}}
func.func @reuses_the_place_of_a_dead_buffer(%x: memref<32xf32>, %y: memref<32xf32> {inarch.result}) {
  %a = loop.alloc : memref<32xf32>
  %b = loop.alloc : memref<32xf32>
  %c = loop.alloc : memref<32xf32>
  loop.call @f(%x, %a) : memref<32xf32>, memref<32xf32>
  loop.call @f(%a, %b) : memref<32xf32>, memref<32xf32>
  loop.call @f(%b, %c) : memref<32xf32>, memref<32xf32>
  loop.call @f(%c, %y) : memref<32xf32>, memref<32xf32>
  func.return
}
func.func private @f(memref<32xf32>, memref<32xf32>)
// CHECK:      inarch.weights_bytes = 0 : i64
// CHECK:      func.func @reuses_the_place_of_a_dead_buffer
// CHECK-SAME: inarch.workspace_bytes = 256 : i64
// CHECK-NEXT:   %a = loop.alloc at 0 : memref<32xf32>
// CHECK-NEXT:   %b = loop.alloc at 128 : memref<32xf32>
// CHECK-NEXT:   %c = loop.alloc at 0 : memref<32xf32>

// -----

// expected-remark @below {{[plan-memory] @a_view_keeps_its_buffer_alive: 128 bytes of workspace, for 128 bytes of buffers}}
func.func @a_view_keeps_its_buffer_alive(%x: memref<16xf32>, %y: memref<16xf32> {inarch.result}) {
  %a = loop.alloc : memref<16xf32>
  %b = loop.alloc : memref<16xf32>
  %v = loop.reshape %a : memref<16xf32> to memref<4x4xf32>
  %w = loop.reshape %v : memref<4x4xf32> to memref<16xf32>
  loop.call @f(%x, %a) : memref<16xf32>, memref<16xf32>
  loop.call @f(%x, %b) : memref<16xf32>, memref<16xf32>
  loop.call @f(%w, %y) : memref<16xf32>, memref<16xf32>
  func.return
}
func.func private @f(memref<16xf32>, memref<16xf32>)
// CHECK:      func.func @a_view_keeps_its_buffer_alive
// CHECK-SAME: inarch.workspace_bytes = 128 : i64
// CHECK-NEXT:   %a = loop.alloc at 0 : memref<16xf32>
// CHECK-NEXT:   %b = loop.alloc at 64 : memref<16xf32>

// -----

// expected-remark @below {{[plan-memory] @a_loop_uses_its_buffers_all_the_time: 128 bytes of workspace, for 128 bytes of buffers}}
func.func @a_loop_uses_its_buffers_all_the_time(%y: memref<16xf32> {inarch.result}) {
  %zero = arith.constant 0 : index
  %a = loop.alloc : memref<16xf32>
  %b = loop.alloc : memref<16xf32>
  loop.for %i = 0 to 16 {
    %u = memref.load %y[%i] : memref<16xf32>
    memref.store %u, %a[%zero] : memref<16xf32>
    %v = memref.load %a[%zero] : memref<16xf32>
    memref.store %v, %b[%i] : memref<16xf32>
    loop.yield
  }
  func.return
}
// CHECK:      func.func @a_loop_uses_its_buffers_all_the_time
// CHECK-SAME: inarch.workspace_bytes = 128 : i64
// CHECK:        %a = loop.alloc at 0 : memref<16xf32>
// CHECK-NEXT:   %b = loop.alloc at 64 : memref<16xf32>

// -----

// The largest buffer is placed first, each into the smallest gap that is wide enough.
// expected-remark @below {{[plan-memory] @fills_gaps: 320 bytes of workspace, for 464 bytes of buffers}}
func.func @fills_gaps(%y: memref<64xf32> {inarch.result}) {
  %big = loop.alloc : memref<64xf32>
  %small = loop.alloc : memref<3xf32>
  %middle = loop.alloc : memref<32xf32>
  %late = loop.alloc : memref<17xf32>
  loop.call @g(%big, %small) : memref<64xf32>, memref<3xf32>
  loop.call @h(%small, %middle, %late) : memref<3xf32>, memref<32xf32>, memref<17xf32>
  func.return
}
"func.func"() <{sym_name = "g", sym_visibility = "private", function_type = (memref<64xf32>, memref<3xf32>) -> (), arg_attrs = [{inarch.result}, {inarch.result}]}> ({}) : () -> ()
"func.func"() <{sym_name = "h", sym_visibility = "private", function_type = (memref<3xf32>, memref<32xf32>, memref<17xf32>) -> (), arg_attrs = [{}, {inarch.result}, {inarch.result}]}> ({}) : () -> ()
// CHECK:      func.func @fills_gaps
// CHECK-SAME: inarch.workspace_bytes = 320 : i64
// CHECK-NEXT:   %big = loop.alloc at 0 : memref<64xf32>
// CHECK-NEXT:   %small = loop.alloc at 256 : memref<3xf32>
// CHECK-NEXT:   %middle = loop.alloc at 0 : memref<32xf32>
// CHECK-NEXT:   %late = loop.alloc at 128 : memref<17xf32>

// -----

// expected-remark @below {{[plan-memory] @an_unused_buffer_takes_no_place: 0 bytes of workspace, for 0 bytes of buffers}}
func.func @an_unused_buffer_takes_no_place() {
  %a = loop.alloc : memref<1024xf32>
  %b = loop.alloc : memref<0xf32>
  func.return
}
// CHECK:      func.func @an_unused_buffer_takes_no_place
// CHECK-SAME: inarch.workspace_bytes = 0 : i64
// CHECK-NEXT:   %a = loop.alloc at 0
// CHECK-NEXT:   %b = loop.alloc at 0

// -----

// Weights stand in program order, 64-byte aligned; equal values share their place.
// expected-remark @below {{[plan-memory] @equal_constants_share_their_place: 0 bytes of workspace, for 0 bytes of buffers}}
func.func @equal_constants_share_their_place() {
  %a = loop.constant dense<[1.0, 2.0]> : tensor<2xf32> : memref<2xf32>
  %b = loop.constant dense_resource<w> : tensor<5x5xf32> : memref<5x5xf32>
  %c = loop.constant dense<[1.0, 2.0]> : tensor<2xf32> : memref<2xf32>
  %d = loop.constant dense_resource<w> : tensor<25xf32> : memref<25xf32>
  %e = loop.constant dense<[1.0, 3.0]> : tensor<2xf32> : memref<2xf32>
  func.return
}
// CHECK:      inarch.weights_bytes = 256 : i64
// CHECK:        %a = loop.constant dense<{{.*}}> : tensor<2xf32> at 0 : memref<2xf32>
// CHECK-NEXT:   %b = loop.constant dense_resource<w> : tensor<5x5xf32> at 64 : memref<5x5xf32>
// CHECK-NEXT:   %c = loop.constant dense<{{.*}}> : tensor<2xf32> at 0 : memref<2xf32>
// CHECK-NEXT:   %d = loop.constant dense_resource<w> : tensor<25xf32> at 64 : memref<25xf32>
// CHECK-NEXT:   %e = loop.constant dense<{{.*}}> : tensor<2xf32> at 192 : memref<2xf32>
