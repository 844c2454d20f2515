// RUN: inarch-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: inarch-opt %s --print-op-generic | inarch-opt | filecheck %s

// The attributes of a nest in their generic form, which parses back to the nest.
func.func @attributes(%x: memref<4xf32>, %y: memref<4xf32>) {
  loop.nest (i = 4 unroll, r = 2 reduction) ins(%x[i + r] pad 1.5 : memref<4xf32>) outs(%y[i] init -inf clip : memref<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.maximumf %a, %acc : f32
    loop.yield %m : f32
  }
  func.return
}
// GENERIC: iterators = [#loop.iterator<i = 4 unroll>, #loop.iterator<r = 2 reduction>]
// GENERIC-SAME: reads = [#loop.read<affine_map<(d0, d1) -> ((d0 + d1))>, 1.500000e+00 : f32>]
// GENERIC-SAME: writes = [#loop.write<affine_map<(d0, d1) -> (d0)>, {{.*}} : f32, "clip">]
// CHECK: loop.nest (i = 4 unroll, r = 2 reduction) ins(%x[i + r] pad 1.5 : memref<4xf32>) outs(%y[i] init -inf clip : memref<4xf32>)
