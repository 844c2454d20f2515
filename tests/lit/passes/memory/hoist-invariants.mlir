// RUN: inarch-opt %s --split-input-file -p hoist-invariants | filecheck %s

// A copy, and what is made of it, of the same memory at each iteration: before the loop, with the views that they are seen through.
// CHECK-LABEL: func.func @main(%w: memref<4x4xf32>, %x: memref<3x4xf32>, %y: memref<4xf32> {inarch.result}) {
// CHECK-NEXT:    %all = memref.subview %w[0, 0] [4, 4] [1, 1] : memref<4x4xf32> to memref<4x4xf32, strided<[4, 1], offset: ?>>
// CHECK-NEXT:    %p = loop.alloc : memref<4x4xf32>
// CHECK-NEXT:    kernel.pack %all[d1, d0] to %p[d0, d1] : memref<4x4xf32, strided<[4, 1], offset: ?>>, memref<4x4xf32>
// CHECK-NEXT:    %q = loop.alloc : memref<4x4xf32>
// CHECK-NEXT:    loop.nest (i = 4, j = 4) ins(%p[i, j] : memref<4x4xf32>) outs(%q[i, j] : memref<4x4xf32>) {
// CHECK-NEXT:    ^bb0(%e: f32, %o: f32):
// CHECK-NEXT:      %s = math.exp %e : f32
// CHECK-NEXT:      loop.yield %s : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.for %t = 0 to 3 {
// CHECK-NEXT:      %row = memref.subview %x[%t, 0] [1, 4] [1, 1] : memref<3x4xf32> to memref<4xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      loop.nest (i = 4, k = 4 reduction) ins(%q[i, k] : memref<4x4xf32>, %row[k] : memref<4xf32, strided<[1], offset: ?>>) outs(%y[i] init 0.0 : memref<4xf32>) {
// CHECK-NEXT:      ^bb0(%e_1: f32, %f: f32, %acc: f32):
// CHECK-NEXT:        %m = arith.mulf %e_1, %f : f32
// CHECK-NEXT:        %s_1 = arith.addf %m, %acc : f32
// CHECK-NEXT:        loop.yield %s_1 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @main(%w: memref<4x4xf32>, %x: memref<3x4xf32>, %y: memref<4xf32> {inarch.result}) {
  loop.for %t = 0 to 3 {
    %row = memref.subview %x[%t, 0] [1, 4] [1, 1] : memref<3x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    %all = memref.subview %w[0, 0] [4, 4] [1, 1] : memref<4x4xf32> to memref<4x4xf32, strided<[4, 1], offset: ?>>
    %p = loop.alloc : memref<4x4xf32>
    kernel.pack %all[j, i] to %p[i, j] : memref<4x4xf32, strided<[4, 1], offset: ?>>, memref<4x4xf32>
    %q = loop.alloc : memref<4x4xf32>
    loop.nest (i = 4, j = 4) ins(%p[i, j] : memref<4x4xf32>) outs(%q[i, j] : memref<4x4xf32>) {
    ^bb0(%e: f32, %o: f32):
      %s = math.exp %e : f32
      loop.yield %s : f32
    }
    loop.nest (i = 4, k = 4 reduction) ins(%q[i, k] : memref<4x4xf32>, %row[k] : memref<4xf32, strided<[1], offset: ?>>) outs(%y[i] init 0.0 : memref<4xf32>) {
    ^bb0(%e: f32, %f: f32, %acc: f32):
      %m = arith.mulf %e, %f : f32
      %s = arith.addf %m, %acc : f32
      loop.yield %s : f32
    }
    loop.yield
  }
  func.return
}

// -----

// Out of a loop in a loop of computed length, of which only the inner one leaves %v as it is; nothing under a condition.
// CHECK-LABEL: func.func @loops(%n: memref<i64>, %c: memref<i1>, %w: memref<4xf32>, %v: memref<4xf32> {inarch.result}, %y: memref<4xf32> {inarch.result}) {
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %one = arith.constant 1 : index
// CHECK-NEXT:    %m = memref.load %n[] : memref<i64>
// CHECK-NEXT:    %most = arith.index_cast %m : i64 to index
// CHECK-NEXT:    %flag = memref.load %c[] : memref<i1>
// CHECK-NEXT:    loop.nest (j = 4) outs(%v[j] : memref<4xf32>) {
// CHECK-NEXT:    ^bb0(%o: f32):
// CHECK-NEXT:      %k = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:      loop.yield %k : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %p = loop.alloc : memref<4xf32>
// CHECK-NEXT:    loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%p[j] : memref<4xf32>) {
// CHECK-NEXT:    ^bb0(%e: f32, %o_1: f32):
// CHECK-NEXT:      %s = math.exp %e : f32
// CHECK-NEXT:      loop.yield %s : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.while %t = %zero to %most step %one {
// CHECK-NEXT:      %q = loop.alloc : memref<4xf32>
// CHECK-NEXT:      loop.nest (j = 4) ins(%v[j] : memref<4xf32>) outs(%q[j] : memref<4xf32>) {
// CHECK-NEXT:      ^bb0(%e_1: f32, %o_2: f32):
// CHECK-NEXT:        %s_1 = math.tanh %e_1 : f32
// CHECK-NEXT:        loop.yield %s_1 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.for %u = 0 to 2 {
// CHECK-NEXT:        loop.nest (j = 4) ins(%p[j] : memref<4xf32>, %q[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
// CHECK-NEXT:        ^bb0(%e_2: f32, %f: f32, %o_3: f32):
// CHECK-NEXT:          %s_2 = arith.addf %e_2, %f : f32
// CHECK-NEXT:          loop.yield %s_2 : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.if %flag {
// CHECK-NEXT:          %r = loop.alloc : memref<4xf32>
// CHECK-NEXT:          loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%r[j] : memref<4xf32>) {
// CHECK-NEXT:          ^bb0(%e_3: f32, %o_4: f32):
// CHECK-NEXT:            %s_3 = math.exp %e_3 : f32
// CHECK-NEXT:            loop.yield %s_3 : f32
// CHECK-NEXT:          }
// CHECK-NEXT:          loop.nest (j = 4) ins(%r[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
// CHECK-NEXT:          ^bb0(%e_4: f32, %o_5: f32):
// CHECK-NEXT:            %s_4 = math.sqrt %e_4 : f32
// CHECK-NEXT:            loop.yield %s_4 : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        loop.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (j = 4) ins(%y[j] : memref<4xf32>) outs(%v[j] : memref<4xf32>) {
// CHECK-NEXT:      ^bb0(%e_5: f32, %o_6: f32):
// CHECK-NEXT:        %s_5 = arith.addf %e_5, %o_6 : f32
// CHECK-NEXT:        loop.yield %s_5 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @loops(%n: memref<i64>, %c: memref<i1>, %w: memref<4xf32>, %v: memref<4xf32> {inarch.result}, %y: memref<4xf32> {inarch.result}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = memref.load %n[] : memref<i64>
  %most = arith.index_cast %m : i64 to index
  %flag = memref.load %c[] : memref<i1>
  loop.nest (j = 4) outs(%v[j] : memref<4xf32>) {
  ^bb0(%o: f32):
    %k = arith.constant 1.0 : f32
    loop.yield %k : f32
  }
  loop.while %t = %zero to %most step %one {
    loop.for %u = 0 to 2 {
      %p = loop.alloc : memref<4xf32>
      loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%p[j] : memref<4xf32>) {
      ^bb0(%e: f32, %o: f32):
        %s = math.exp %e : f32
        loop.yield %s : f32
      }
      %q = loop.alloc : memref<4xf32>
      loop.nest (j = 4) ins(%v[j] : memref<4xf32>) outs(%q[j] : memref<4xf32>) {
      ^bb0(%e: f32, %o: f32):
        %s = math.tanh %e : f32
        loop.yield %s : f32
      }
      loop.nest (j = 4) ins(%p[j] : memref<4xf32>, %q[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
      ^bb0(%e: f32, %f: f32, %o: f32):
        %s = arith.addf %e, %f : f32
        loop.yield %s : f32
      }
      scf.if %flag {
        %r = loop.alloc : memref<4xf32>
        loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%r[j] : memref<4xf32>) {
        ^bb0(%e: f32, %o: f32):
          %s = math.exp %e : f32
          loop.yield %s : f32
        }
        loop.nest (j = 4) ins(%r[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
        ^bb0(%e: f32, %o: f32):
          %s = math.sqrt %e : f32
          loop.yield %s : f32
        }
      }
      loop.yield
    }
    loop.nest (j = 4) ins(%y[j] : memref<4xf32>) outs(%v[j] : memref<4xf32>) {
    ^bb0(%e: f32, %o: f32):
      %s = arith.addf %e, %o : f32
      loop.yield %s : f32
    }
    loop.yield
  }
  func.return
}

// -----

// What stays: a buffer of two writers, one from outside, a view that the loop moves, what a kernel writes, what its author keeps.
// CHECK-LABEL: func.func @stays(%w: memref<4xf32>, %x: memref<3x4xf32>, %y: memref<4xf32> {inarch.result}, %z: memref<4xf32> {inarch.result}, %a: memref<4xf32> {inarch.result}) {
// CHECK-NEXT:    loop.for %t = 0 to 3 {
// CHECK-NEXT:      %p = loop.alloc : memref<4xf32>
// CHECK-NEXT:      loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%p[j] : memref<4xf32>) {
// CHECK-NEXT:      ^bb0(%e: f32, %o: f32):
// CHECK-NEXT:        %s = math.exp %e : f32
// CHECK-NEXT:        loop.yield %s : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (j = 4) outs(%p[j] : memref<4xf32>) {
// CHECK-NEXT:      ^bb0(%o_1: f32):
// CHECK-NEXT:        %s_1 = math.tanh %o_1 : f32
// CHECK-NEXT:        loop.yield %s_1 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%z[j] : memref<4xf32>) {
// CHECK-NEXT:      ^bb0(%e_1: f32, %o_2: f32):
// CHECK-NEXT:        %s_2 = math.sqrt %e_1 : f32
// CHECK-NEXT:        loop.yield %s_2 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      %row = memref.subview %x[%t, 0] [1, 4] [1, 1] : memref<3x4xf32> to memref<4xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      %q = loop.alloc : memref<4xf32>
// CHECK-NEXT:      loop.nest (j = 4) ins(%row[j] : memref<4xf32, strided<[1], offset: ?>>) outs(%q[j] : memref<4xf32>) {
// CHECK-NEXT:      ^bb0(%e_2: f32, %o_3: f32):
// CHECK-NEXT:        %s_3 = math.cos %e_2 : f32
// CHECK-NEXT:        loop.yield %s_3 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      kernel.call @twice(%q[0] strides [1], %a[0] strides [1]) sizes [] : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:      %r = loop.alloc : memref<4xf32>
// CHECK-NEXT:      loop.nest (j = 4) ins(%a[j] : memref<4xf32>) outs(%r[j] : memref<4xf32>) {
// CHECK-NEXT:      ^bb0(%e_3: f32, %o_4: f32):
// CHECK-NEXT:        %s_4 = math.sin %e_3 : f32
// CHECK-NEXT:        loop.yield %s_4 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      %u = loop.alloc : memref<4xf32>
// CHECK-NEXT:      loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%u[j] : memref<4xf32>) attributes {inarch.keep} {
// CHECK-NEXT:      ^bb0(%e_4: f32, %o_5: f32):
// CHECK-NEXT:        %s_5 = math.exp %e_4 : f32
// CHECK-NEXT:        loop.yield %s_5 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (j = 4) ins(%p[j] : memref<4xf32>, %r[j] : memref<4xf32>, %u[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
// CHECK-NEXT:      ^bb0(%e_5: f32, %f: f32, %g: f32, %o_6: f32):
// CHECK-NEXT:        %s_6 = arith.addf %e_5, %f : f32
// CHECK-NEXT:        %v = arith.addf %s_6, %g : f32
// CHECK-NEXT:        loop.yield %v : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
kernel.def @twice computes "for i in 4: Y[i] = X[i] + X[i]" arguments [#kernel.operand<X : f32 read rank 1 align 4>, #kernel.operand<Y : f32 write rank 1 align 4>] needs [] source "x"
func.func @stays(%w: memref<4xf32>, %x: memref<3x4xf32>, %y: memref<4xf32> {inarch.result}, %z: memref<4xf32> {inarch.result}, %a: memref<4xf32> {inarch.result}) {
  loop.for %t = 0 to 3 {
    %p = loop.alloc : memref<4xf32>
    loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%p[j] : memref<4xf32>) {
    ^bb0(%e: f32, %o: f32):
      %s = math.exp %e : f32
      loop.yield %s : f32
    }
    loop.nest (j = 4) outs(%p[j] : memref<4xf32>) {
    ^bb0(%o: f32):
      %s = math.tanh %o : f32
      loop.yield %s : f32
    }
    loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%z[j] : memref<4xf32>) {
    ^bb0(%e: f32, %o: f32):
      %s = math.sqrt %e : f32
      loop.yield %s : f32
    }
    %row = memref.subview %x[%t, 0] [1, 4] [1, 1] : memref<3x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    %q = loop.alloc : memref<4xf32>
    loop.nest (j = 4) ins(%row[j] : memref<4xf32, strided<[1], offset: ?>>) outs(%q[j] : memref<4xf32>) {
    ^bb0(%e: f32, %o: f32):
      %s = math.cos %e : f32
      loop.yield %s : f32
    }
    kernel.call @twice for () (%q[0] strides [1], %a[0] strides [1]) sizes [] : memref<4xf32>, memref<4xf32>
    %r = loop.alloc : memref<4xf32>
    loop.nest (j = 4) ins(%a[j] : memref<4xf32>) outs(%r[j] : memref<4xf32>) {
    ^bb0(%e: f32, %o: f32):
      %s = math.sin %e : f32
      loop.yield %s : f32
    }
    %u = loop.alloc : memref<4xf32>
    loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%u[j] : memref<4xf32>) attributes {inarch.keep} {
    ^bb0(%e: f32, %o: f32):
      %s = math.exp %e : f32
      loop.yield %s : f32
    }
    loop.nest (j = 4) ins(%p[j] : memref<4xf32>, %r[j] : memref<4xf32>, %u[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
    ^bb0(%e: f32, %f: f32, %g: f32, %o: f32):
      %s = arith.addf %e, %f : f32
      %v = arith.addf %s, %g : f32
      loop.yield %v : f32
    }
    loop.yield
  }
  func.return
}

// -----

// A nest whose body uses the number of the iteration.
// CHECK-LABEL: func.func @number(%w: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
// CHECK-NEXT:    loop.for %t = 0 to 3 {
// CHECK-NEXT:      %p = loop.alloc : memref<4xf32>
// CHECK-NEXT:      loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%p[j] : memref<4xf32>) {
// CHECK-NEXT:      ^bb0(%e: f32, %o: f32):
// CHECK-NEXT:        %n = arith.index_cast %t : index to i64
// CHECK-NEXT:        %f = arith.sitofp %n : i64 to f32
// CHECK-NEXT:        %s = arith.addf %e, %f : f32
// CHECK-NEXT:        loop.yield %s : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (j = 4) ins(%p[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
// CHECK-NEXT:      ^bb0(%e_1: f32, %o_1: f32):
// CHECK-NEXT:        loop.yield %e_1 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @number(%w: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
  loop.for %t = 0 to 3 {
    %p = loop.alloc : memref<4xf32>
    loop.nest (j = 4) ins(%w[j] : memref<4xf32>) outs(%p[j] : memref<4xf32>) {
    ^bb0(%e: f32, %o: f32):
      %n = arith.index_cast %t : index to i64
      %f = arith.sitofp %n : i64 to f32
      %s = arith.addf %e, %f : f32
      loop.yield %s : f32
    }
    loop.nest (j = 4) ins(%p[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
    ^bb0(%e: f32, %o: f32):
      loop.yield %e : f32
    }
    loop.yield
  }
  func.return
}

// -----

// An iteration reads what the one before has left in its scratch: it stays, and plan-memory says that nothing has written that.
// CHECK-LABEL: func.func @leaks(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
// CHECK-NEXT:    loop.for %i = 0 to 4 {
// CHECK-NEXT:      %t = loop.alloc : memref<4xf32>
// CHECK-NEXT:      loop.nest (j = 4) ins(%t[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
func.func @leaks(%x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
  loop.for %i = 0 to 4 {
    %t = loop.alloc : memref<4xf32>
    loop.nest (j = 4) ins(%t[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      loop.yield %a : f32
    }
    loop.nest (j = 4) ins(%x[j] : memref<4xf32>) outs(%t[j] : memref<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      loop.yield %a : f32
    }
    loop.yield
  }
  func.return
}
