// RUN: inarch-opt %s -p 'apply-schedule{file="%S/Inputs/dense.schedule"}' --verify-semantics | filecheck %s
// RUN: inarch compile %s --schedule %S/Inputs/dense.schedule --target x86-64-v3 --emit=kernel | filecheck %s --check-prefix=KERNEL
// RUN: not inarch-opt %s -p 'apply-schedule{file="%S/Inputs/gone.schedule"}' 2>&1 | filecheck %s --check-prefix=GONE
// RUN: not inarch-opt %s -p 'apply-schedule{file="%S/Inputs/none.schedule"}' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not inarch compile %s --schedule %S/Inputs/dense.schedule -p outline-nests --emit=kernel 2>&1 | filecheck %s --check-prefix=PIPELINE

// RUN: inarch-opt %s -p apply-schedule --verify-semantics | filecheck %s --check-prefix=OWN

// A program may bring its schedule along; one that is given comes before it.
module attributes {inarch.schedule = ["own.schedule", "at \22neg\22: interchange j i"]} {
func.func @main(%x: memref<8x24xf32>, %w: memref<24x32xf32>, %y: memref<8x32xf32> {inarch.result}) {
  %t = loop.alloc : memref<8x32xf32>
  loop.nest (m = 8, n = 32, k = 24 reduction) ins(%x[m, k] : memref<8x24xf32>, %w[k, n] : memref<24x32xf32>) outs(%t[m, n] init 0.0 : memref<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  } loc("dense")
  loop.nest (i = 8, j = 32) ins(%t[i, -j + 31] : memref<8x32xf32>) outs(%y[i, j] : memref<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  } loc("neg")
  func.return
}
}
// OWN-NOT: inarch.schedule
// OWN: loop.nest (m = 8, n = 32, k = 24 reduction)
// OWN: loop.nest (j = 32, i = 8)
// CHECK: loop.nest (mo = 2 parallel, no = 2, k = 24 reduction, mi = 4 unroll, ni = 16 vector)
// CHECK: loop.nest (i = 8, block = 2, lane = 16 vector)
// KERNEL-NOT: kernel.call
// KERNEL: loop.nest (mo = 2 parallel, no = 2, k = 24 reduction, mi = 4 unroll, ni = 16 vector)
// GONE: gone.schedule:2:1: error: no nest or loop 'dens_2'; did you mean 'dense'? Known: dense, neg
// NONE: none.schedule: error: the schedule cannot be read: No such file or directory
// PIPELINE: error: expected the pass 'apply-schedule' in the pipeline, where a schedule is given, found outline-nests
