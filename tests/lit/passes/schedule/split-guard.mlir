// RUN: not inarch-opt %s -p 'split{nest=body iterator=i factor=4}' 2>&1 | filecheck %s --check-prefix=BODY
// RUN: not inarch-opt %s -p 'split{nest=finish iterator=i factor=4}' 2>&1 | filecheck %s --check-prefix=FINISH
// RUN: not inarch-opt %s -p 'split{nest=index iterator=i factor=4}' 2>&1 | filecheck %s --check-prefix=INDEX
// RUN: not inarch-opt %s -p 'split{nest=twice iterator=i factor=4}' 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: inarch-opt %s -p 'split{nest=one iterator=i factor=4}' --verify-semantics | filecheck %s --check-prefix=ONE

// Where a guard cannot stand: behind the last point 0 is read, and nothing may be written.
func.func @main(%a: memref<10xi32>, %b: memref<10x3xi32>, %ids: memref<10xi64>, %c: memref<10xi32> {inarch.result}, %d: memref<10x30xi32> {inarch.result}) {
  loop.nest (i = 10) ins(%a[i] : memref<10xi32>) outs(%c[i] : memref<10xi32>) {
  ^bb0(%x: i32, %o: i32):
    %r = arith.remsi %x, %x : i32
    loop.yield %r : i32
  } loc("body")
  // BODY: body: error: split: expected a factor that divides the 10 points of i, as 'arith.remsi' may divide by what is behind the last one, found 4; take 2

  loop.nest (i = 10, k = 3 reduction) ins(%b[i, k] : memref<10x3xi32>, %a[i] : memref<10xi32>) outs(%c[i] init 0 : memref<10xi32>) {
  ^bb0(%x: i32, %y: i32, %o: i32):
    %r = arith.addi %x, %o : i32
    loop.yield %r : i32
  } finish {
  ^bb0(%x: i32, %y: i32, %o: i32):
    %r = arith.divsi %o, %y : i32
    loop.yield %r : i32
  } loc("finish")
  // FINISH: finish: error: split: expected a factor that divides the 10 points of i, as 'arith.divsi' may divide by what is behind the last one, found 4; take 2

  loop.nest (i = 10) ins(%ids[i] : memref<10xi64>, %a[at(0)] : memref<10xi32>) outs(%c[i] : memref<10xi32>) {
  ^bb0(%at: i64, %x: i32, %o: i32):
    loop.yield %x : i32
  } loc("index")
  // INDEX: index: error: split: expected a factor that divides the 10 points of i, as an index is read, found 4; take 2

  // Behind the last point of i a guard of %d's rows would hold, but i + 10 * j is a column of the next j.
  loop.nest (i = 10, j = 3) ins(%b[i, j] : memref<10x3xi32>) outs(%d[i, i + 10 * j] : memref<10x30xi32>) {
  ^bb0(%x: i32, %o: i32):
    loop.yield %x : i32
  } loc("twice")
  // TWICE: twice: error: split: expected a factor that divides the 10 points of i, as points behind the last one would write others of output 0, found 4; take 2

  // An iterator of one point is 0, whatever its factor.
  loop.nest (i = 10, v = 1) ins(%a[i] : memref<10xi32>) outs(%c[i + 2 * v] : memref<10xi32>) {
  ^bb0(%x: i32, %o: i32):
    loop.yield %x : i32
  } loc("one")
  // ONE: loop.nest (io = 3, ii = 4, v = 1) ins(%a[io * 4 + ii] pad 0 : memref<10xi32>) outs(%c[io * 4 + ii + v * 2] clip : memref<10xi32>)
  func.return
}
