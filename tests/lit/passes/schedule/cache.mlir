// RUN: inarch-opt %s -p 'cache{nest=conv operand="%x"}' --verify-semantics | filecheck %s
// RUN: inarch-opt %s -p 'cache{nest=conv operand=1}' --verify-semantics | filecheck %s --check-prefix=WEIGHTS
// RUN: inarch-opt %s -p 'fuse{nest=conv iterators=oh blocks=3},cache{nest="conv[1]" operand=0}' --verify-semantics | filecheck %s --check-prefix=TURN
// RUN: not inarch-opt %s -p 'cache{nest=pool operand=x}' 2>&1 | filecheck %s --check-prefix=PAD
// RUN: not inarch-opt %s -p 'cache{nest=rows operand=table}' 2>&1 | filecheck %s --check-prefix=INDEX

func.func @main(%x: memref<8x9xf32>, %w: memref<3xf32>, %y: memref<6x9xf32> {inarch.result}, %ids: memref<6xi64>, %table: memref<5x9xf32>) {
  // The box that is read, with the zeros beside it: nothing is padded any more.
  loop.nest (oh = 6, ow = 9, kw = 3 reduction) ins(%x[oh, ow + kw - 1] pad 0.0 : memref<8x9xf32>, %w[-kw + 2] : memref<3xf32>) outs(%y[oh, ow] init 0.0 : memref<6x9xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %p, %o : f32
    loop.yield %r : f32
  } loc("conv")
  // CHECK: %x_1 = loop.alloc : memref<6x11xf32>
  // CHECK-NEXT: kernel.pack %x[d0, d1 - 1] to %x_1[d0, d1] : memref<8x9xf32>, memref<6x11xf32>
  // CHECK-NEXT: loop.nest (oh = 6, ow = 9, kw = 3 reduction) ins(%x_1[oh, ow + kw] : memref<6x11xf32>, %w[-kw + 2]
  // WEIGHTS: kernel.pack %w[d0] to %w_1[d0] : memref<3xf32>, memref<3xf32>
  // TURN: loop.for %oho = 0 to 6 step 3 {
  // TURN: %x_2 = loop.alloc : memref<{{.*}}x11xf32>
  // TURN: kernel.pack
  // TURN: loop.nest (oh = 3, ow = 9, kw = 3 reduction)
  loop.nest (oh = 6, ow = 9, kw = 3 reduction) ins(%x[oh, ow + kw - 1] pad -inf : memref<8x9xf32>) outs(%y[oh, ow] init -inf : memref<6x9xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %o : f32
    loop.yield %r : f32
  } loc("pool")
  // PAD: pool: error: cache: expected a pad of 0, which is what a copy has outside, found -inf
  loop.nest (i = 6, j = 9) ins(%ids[i] : memref<6xi64>, %table[at(0), j] : memref<5x9xf32>) outs(%y[i, j] : memref<6x9xf32>) {
  ^bb0(%n: i64, %a: f32, %o: f32):
    loop.yield %a : f32
  } loc("rows")
  // INDEX: rows: error: cache: expected an operand read at linear indices, found operand 1, where an index is read
  func.return
}
