// RUN: inarch-opt %s -p try-kernels | filecheck %s
// RUN: inarch-opt %s -p try-kernels,tensorize | filecheck %s --check-prefix=CALL

// The program stays as it is: what is left is a fact for tensorize, which takes kernels that can be built.

// CHECK:     loop.nest (m = 16, n = 16, k = 16 reduction)
// CHECK-NOT: kernel.
// CALL:      kernel.call
module attributes {inarch.target = "x86-64-v3"} {
  func.func @main(%a: memref<16x16xf32>, %b: memref<16x16xf32>, %c: memref<16x16xf32> {inarch.result}) {
    loop.nest (m = 16, n = 16, k = 16 reduction) ins(%a[m, k] : memref<16x16xf32>, %b[k, n] : memref<16x16xf32>) outs(%c[m, n] init 0.0 : memref<16x16xf32>) {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %0 = arith.mulf %x, %y : f32
      %1 = arith.addf %acc, %0 : f32
      loop.yield %1 : f32
    }
    func.return
  }
}
