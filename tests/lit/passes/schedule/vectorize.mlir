// RUN: inarch-opt %s -p 'split{nest=neg iterator=i factor=16},vectorize{nest=neg iterator=ii}' --verify-semantics | filecheck %s
// RUN: inarch-opt %s -p 'split{nest=neg iterator=i factor=16},vectorize{nest=neg iterator=ii}' -t c | filecheck %s --check-prefix=C
// RUN: not inarch-opt %s -p 'vectorize{nest=neg iterator=i}' 2>&1 | filecheck %s --check-prefix=POWER
// RUN: not inarch-opt %s -p 'vectorize{nest=sum iterator=k}' 2>&1 | filecheck %s --check-prefix=SUM
// RUN: not inarch-opt %s -p 'split{nest=neg iterator=i factor=64},vectorize{nest=neg iterator=ii}' 2>&1 | filecheck %s --check-prefix=PAD
// RUN: not inarch-opt %s -p 'vectorize{nest=sum iterator=m}' 2>&1 | filecheck %s --check-prefix=OUTER
// RUN: inarch-opt %s -p 'vectorize{nest=rows iterator=v}' --verify-semantics | filecheck %s --check-prefix=ROWS

module attributes {inarch.target = "x86-64-v3"} {
func.func @main(%x: memref<8x96xf32>, %y: memref<8x96xf32> {inarch.result}, %s: memref<8xf32> {inarch.result}) {
  loop.nest (m = 8, i = 96) ins(%x[m, i] : memref<8x96xf32>) outs(%y[m, i] : memref<8x96xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.negf %a : f32
    loop.yield %r : f32
  } loc("neg")
  // CHECK: loop.nest (m = 8, io = 6, ii = 16 vector)
  // C: for (int64_t m_io = 0; m_io < 48; m_io++) {
  // C-NOT: for
  // C: = -x_value;
  // C: = -x_value_1;
  // POWER: neg: error: vectorize: expected a power of two of points, found i = 96; split it first
  // PAD: neg: error: vectorize: expected reads inside of their operands, where iterators are unrolled or vectors, found operand 0 read at 0 to 127 in dimension 1 of 96 elements; cache it first, or split by a factor that divides
  loop.nest (m = 8, k = 96 reduction) ins(%x[m, k] : memref<8x96xf32>) outs(%s[m] init 0.0 : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    loop.yield %r : f32
  } loc("sum")
  // SUM: sum: error: vectorize: expected a parallel iterator, found the reduction k: iterations k = 0 and k = 1 change one accumulator
  // OUTER: sum: error: vectorize: 'loop.nest' cannot obey 'm = 8 vector': it stands outside of k; order the iterators otherwise, or make it serial
  loop.nest (m = 8, k = 96 reduction, v = 1) ins(%x[m, k] : memref<8x96xf32>) outs(%s[m + v] init 0.0 : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    loop.yield %r : f32
  } loc("rows")
  // ROWS: loop.nest (m = 8, k = 96 reduction, v = 1 vector)
  func.return
}
}
