// RUN: inarch-opt %s -t c | filecheck %s

// Names are new where they are declared, and what may overlap is not said to be apart, also through a call.
module attributes {inarch.name = "n"} {

// The loop is within the function: its variable is not called like the buffer that it reads.
// CHECK: inarch_kernel_copy(const float *__restrict i, float *__restrict o){{$}}
// CHECK:          for (int64_t i_1 = 0; i_1 < 8; i_1++) {
// CHECK-NEXT:         o[i_1] = i[i_1];
func.func private @copy(%i: memref<8xf32>, %o: memref<8xf32>) {
  loop.nest (i = 8) ins(%i[i] : memref<8xf32>) outs(%o[i] : memref<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

// CHECK: inarch_kernel_outer(const float *a, float *b){{$}}
func.func private @outer(%a: memref<8xf32>, %b: memref<8xf32>) {
  loop.call @inner(%a, %b) : memref<8xf32>, memref<8xf32>
  func.return
}

// CHECK: inarch_kernel_inner(const float *a, float *b){{$}}
func.func private @inner(%a: memref<8xf32>, %b: memref<8xf32>) {
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>) outs(%b[i] : memref<8xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) {
  %t = loop.alloc at 0 : memref<8xf32>
  loop.call @copy(%x, %t) : memref<8xf32>, memref<8xf32>
  loop.call @outer(%t, %t) : memref<8xf32>, memref<8xf32>
  loop.call @copy(%t, %y) : memref<8xf32>, memref<8xf32>
  func.return
}
}
