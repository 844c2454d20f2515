// RUN: not inarch-opt %s -p 'split{nest=twice iterator=i factor=4}' 2>&1 | filecheck %s

// Behind the last point of i a guard of %c's rows would hold, but i + 10 * j is a column of the next j.
// CHECK: twice: error: split: expected a factor that divides the 10 points of i, as points behind the last one would write others of output 0, found 4; take 2
func.func @main(%a: memref<10x30xf32>, %c: memref<10x30xf32> {inarch.result}) {
  loop.nest (i = 10, j = 3) ins(%a[i, j] : memref<10x30xf32>) outs(%c[i, i + 10 * j] : memref<10x30xf32>) {
  ^bb0(%x: f32, %o: f32):
    loop.yield %x : f32
  } loc("twice")
  func.return
}
