// RUN: inarch-opt %s -p 'tile{nest=dense iterators=m,n sizes=4,16}' --verify-semantics | filecheck %s
// RUN: inarch-opt %s -p 'tile{nest=dense iterators=m,n,k sizes=4,16,8}' --verify-semantics | filecheck %s --check-prefix=THREE
// RUN: not inarch-opt %s -p 'tile{nest=dense iterators=m,q sizes=4,16}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not inarch-opt %s -p 'tile{nest=dense iterators=m,n sizes=4}' 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: not inarch-opt %s -p 'tile{nest=dense iterators=m,m sizes=4,4}' 2>&1 | filecheck %s --check-prefix=ONCE

func.func @main(%x: memref<8x24xf32>, %w: memref<24x32xf32>, %y: memref<8x32xf32> {inarch.result}) {
  loop.nest (m = 8, n = 32, k = 24 reduction) ins(%x[m, k] : memref<8x24xf32>, %w[k, n] : memref<24x32xf32>) outs(%y[m, n] init 0.0 : memref<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %o, %p : f32
    loop.yield %r : f32
  } loc("dense")
  func.return
}
// CHECK: loop.nest (mo = 2, no = 2, k = 24 reduction, mi = 4, ni = 16) ins(%x[mo * 4 + mi, k] : memref<8x24xf32>, %w[k, no * 16 + ni] : memref<24x32xf32>)
// THREE: loop.nest (mo = 2, no = 2, ko = 3 reduction, mi = 4, ni = 16, ki = 8 reduction)
// NAME: error: tile: no iterator 'q'. Known: k, m, n
// COUNT: error: tile: sizes: expected one for each iterator, found 1 for 2 iterators
// ONCE: error: tile: iterators: expected each once
