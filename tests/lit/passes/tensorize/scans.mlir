// RUN: inarch-opt %s --load %S/Inputs/add_rows.c -p "tensorize{kernels=add-rows}" | filecheck %s
// RUN: inarch-opt %s --load %S/Inputs/add_rows.c -p "tensorize{kernels=add-rows}" --verify-semantics -o %t

// A kernel that adds each element to its own does so for a nest of which each point begins anew, and not for
// one that scans, though both have the same body.
func.func @main(%x: memref<64xf32>, %y: memref<64xf32> {inarch.result}, %z: memref<64xf32> {inarch.result}) {
  loop.nest (k = 64) ins(%x[k] : memref<64xf32>) outs(%y[k] init 0.0 : memref<64xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  loop.nest (k = 64 scan) ins(%x[k] : memref<64xf32>) outs(%z[k] init 0.0 : memref<64xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: @main
// CHECK:         kernel.call @add_rows(%x[0] strides [1], %y[0] strides [1])
// CHECK-NEXT:    loop.nest (k = 64 scan)
// CHECK-NOT:     kernel.call
