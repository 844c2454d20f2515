// RUN: inarch-opt %s -p 'interchange{nest=pool order=kh,oh}' --verify-semantics | filecheck %s
// RUN: inarch-opt %s -p 'interchange{nest=pool order=kw,kh}' --verify-semantics | filecheck %s --check-prefix=MAX
// RUN: not inarch-opt %s -p 'interchange{nest=sum order=kw,kh}' 2>&1 | filecheck %s --check-prefix=SUM
// RUN: inarch-opt %s -p 'interchange{nest=sum order=kw,kh reassociate=true}' --verify-semantics | filecheck %s --check-prefix=ANY
// RUN: not inarch-opt %s -p 'parallelize{nest=pool iterator=oh},interchange{nest=pool order=kh,oh}' 2>&1 | filecheck %s --check-prefix=SHARED
// RUN: inarch-opt %s -p 'interchange{nest=loops order=j,i}' --verify-semantics | filecheck %s --check-prefix=LOOPS
// RUN: not inarch-opt %s -p 'interchange{nest=skewed order=j,i}' 2>&1 | filecheck %s --check-prefix=SKEWED
// RUN: not inarch-opt %s -p 'interchange{nest=triangle order=j,i}' 2>&1 | filecheck %s --check-prefix=TRIANGLE

func.func @main(%x: memref<9x9xf32>, %y: memref<7x7xf32> {inarch.result}, %z: memref<9x9xf32> {inarch.result}) {
  loop.nest (oh = 7, ow = 7, kh = 3 reduction, kw = 3 reduction) ins(%x[oh + kh, ow + kw] : memref<9x9xf32>) outs(%y[oh, ow] init -inf : memref<7x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %a, %o : f32
    loop.yield %r : f32
  } loc("pool")
  // CHECK: loop.nest (kh = 3 reduction, ow = 7, oh = 7, kw = 3 reduction) ins(%x[kh + oh, ow + kw]
  // MAX: loop.nest (oh = 7, ow = 7, kw = 3 reduction, kh = 3 reduction)
  // SHARED: pool: error: interchange: expected oh, whose turns threads share, outside of kh, whose iterations one thread adds up, found it inside; interchange before parallelize

  loop.nest (oh = 7, ow = 7, kh = 3 reduction, kw = 3 reduction) ins(%x[oh + kh, ow + kw] : memref<9x9xf32>) outs(%y[oh, ow] init 0.0 : memref<7x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    loop.yield %r : f32
  } loc("sum")
  // SUM: sum: error: interchange: expected the sum over kh, kw in its order, in which (kh = 0, kw = 1) adds to its accumulator before (kh = 1, kw = 0), found kw outside of kh; write 'reassociate' where another rounding is wanted
  // ANY: loop.nest (oh = 7, ow = 7, kw = 3 reduction, kh = 3 reduction) {{.*}} init 0.0

  loop.for %i = 0 to 9 {
    loop.for %j = 0 to 8 step 2 {
      %v = memref.load %x[%i, %j] : memref<9x9xf32>
      memref.store %v, %z[%i, %j] : memref<9x9xf32>
      loop.yield
    }
    loop.yield
  } loc("loops")
  // LOOPS: loop.for %j = 0 to 8 step 2 {
  // LOOPS-NEXT: loop.for %i = 0 to 9 {
  // LOOPS-NEXT: memref.load %x[%i, %j]

  loop.for %i = 0 to 8 {
    loop.for %j = 1 to 9 {
      %n = arith.constant 1 : index
      %up = arith.addi %i, %n : index
      %left = arith.subi %j, %n : index
      %v = memref.load %z[%i, %j] : memref<9x9xf32>
      memref.store %v, %z[%up, %left] : memref<9x9xf32>
      loop.yield
    }
    loop.yield
  } loc("skewed")
  // SKEWED: skewed: error: interchange: expected independent iterations of i, which is to go inside of j, found a {{.*}} of %z[%i{{.*}}] where %i = 0 and a {{.*}} of %z[%i{{.*}}] where %i = 1, of one element

  loop.for %g = 0 to 3 {
    loop.for %i = 0 to 9 {
      loop.for %j = 0 to %i {
        %v = memref.load %x[%i, %j] : memref<9x9xf32>
        memref.store %v, %z[%i, %j] : memref<9x9xf32>
        loop.yield
      }
      loop.yield
    }
    loop.yield
  } loc("triangle")
  // TRIANGLE: triangle: error: interchange: expected bounds of j that do not depend on i, which is to go inside, found computed ones that do
  func.return
}
