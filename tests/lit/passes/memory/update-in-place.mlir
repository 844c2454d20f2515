// RUN: inarch-opt %s --split-input-file -p update-in-place | filecheck %s

// exp into the result, which is then scaled where it is: no buffer of its own.
// CHECK-LABEL: @in_the_result
func.func @in_the_result(%x: memref<4x8xf32>, %s: memref<4x1xf32>, %y: memref<4x8xf32> {inarch.result}) {
  %d = loop.alloc : memref<4x8xf32>
  loop.nest (i = 4, j = 8) ins(%x[i, j] : memref<4x8xf32>) outs(%d[i, j] : memref<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 4, j = 8) ins(%d[i, j] : memref<4x8xf32>, %s[i, 0] : memref<4x1xf32>) outs(%y[i, j] : memref<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    loop.yield %0 : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 4, j = 8) ins(%x[i, j] : memref<4x8xf32>) outs(%y[i, j] : memref<4x8xf32>)
// CHECK:      loop.nest (i = 4, j = 8) ins(%s[i, 0] : memref<4x1xf32>) outs(%y[i, j] : memref<4x8xf32>) {
// CHECK-NEXT: ^{{.*}}(%[[B:.*]]: f32, %[[A:.*]]: f32):
// CHECK-NEXT:   arith.mulf %[[A]], %[[B]] : f32

// -----

// It is read again afterwards; at another index; and the caller's input is not ours.
// CHECK-LABEL: @elsewhere
func.func @elsewhere(%x: memref<8x8xf32>, %y: memref<8x8xf32> {inarch.result}, %z: memref<8x8xf32> {inarch.result}, %w: memref<8x8xf32> {inarch.result}) {
  // CHECK-NEXT: %[[D:.*]] = loop.alloc
  %d = loop.alloc : memref<8x8xf32>
  // CHECK-NEXT: ins(%x[i, j] : memref<8x8xf32>) outs(%[[D]][i, j]
  loop.nest (i = 8, j = 8) ins(%x[i, j] : memref<8x8xf32>) outs(%d[i, j] : memref<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    loop.yield %0 : f32
  }
  // CHECK: ins(%[[D]][i, j] : memref<8x8xf32>) outs(%y[i, j]
  loop.nest (i = 8, j = 8) ins(%d[i, j] : memref<8x8xf32>) outs(%y[i, j] : memref<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  // CHECK: ins(%[[D]][j, i] : memref<8x8xf32>) outs(%z[i, j]
  loop.nest (i = 8, j = 8) ins(%d[j, i] : memref<8x8xf32>) outs(%z[i, j] : memref<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  // CHECK: ins(%x[i, j] : memref<8x8xf32>) outs(%w[i, j]
  loop.nest (i = 8, j = 8) ins(%x[i, j] : memref<8x8xf32>) outs(%w[i, j] : memref<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  func.return
}

// -----

// A kernel relies on 64 bytes, to which allocations are aligned, and what the caller gives need not be.
kernel.def @twice computes "for i in N: Y[i] = X[i] + X[i]" arguments [#kernel.operand<X : f32 read rank 1 align 4>, #kernel.operand<Y : f32 write rank 1 align 64>] needs [] source "void twice(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t N) { for (int64_t i = 0; i < N; i++) Y[i * Y_0] = X[i * X_0] + X[i * X_0]; }"
// CHECK-LABEL: @aligned
func.func @aligned(%x: memref<8xf32>, %y: memref<8xf32> {inarch.result}) {
  // CHECK-NEXT: %[[D:.*]] = loop.alloc
  %d = loop.alloc : memref<8xf32>
  // CHECK-NEXT: kernel.call @twice(%x[0] strides [1], %[[D]][0] strides [1])
  kernel.call @twice(%x[0] strides [1], %d[0] strides [1]) sizes [8] : memref<8xf32>, memref<8xf32>
  loop.nest (i = 8) ins(%d[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  func.return
}

// -----

// The result holds another value until it is read: what is made meanwhile is not made there.
// CHECK-LABEL: @held_before
func.func @held_before(%x: memref<8xf32>, %z: memref<8xf32> {inarch.result}, %y: memref<8xf32> {inarch.result}) {
  // CHECK-NEXT: %[[D:.*]] = loop.alloc
  %d = loop.alloc : memref<8xf32>
  loop.nest (i = 8) ins(%x[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.absf %a : f32
    loop.yield %0 : f32
  }
  // CHECK: ins(%x[i] : memref<8xf32>) outs(%[[D]][i]
  loop.nest (i = 8) ins(%x[i] : memref<8xf32>) outs(%d[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 8) ins(%y[i] : memref<8xf32>) outs(%z[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  // CHECK: ins(%[[D]][i] : memref<8xf32>) outs(%y[i]
  loop.nest (i = 8) ins(%d[i] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  func.return
}

// -----

// Another shape of the buffer is read afterwards.
// CHECK-LABEL: @read_by_another_name
func.func @read_by_another_name(%x: memref<2x4xf32>, %y: memref<2x4xf32> {inarch.result}, %z: memref<8xf32> {inarch.result}) {
  // CHECK-NEXT: %[[D:.*]] = loop.alloc
  %d = loop.alloc : memref<2x4xf32>
  %e = loop.reshape %d : memref<2x4xf32> to memref<8xf32>
  // CHECK: ins(%x[i, j] : memref<2x4xf32>) outs(%[[D]][i, j]
  loop.nest (i = 2, j = 4) ins(%x[i, j] : memref<2x4xf32>) outs(%d[i, j] : memref<2x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    loop.yield %0 : f32
  }
  // CHECK: ins(%[[D]][i, j] : memref<2x4xf32>) outs(%y[i, j]
  loop.nest (i = 2, j = 4) ins(%d[i, j] : memref<2x4xf32>) outs(%y[i, j] : memref<2x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 8) ins(%e[i] : memref<8xf32>) outs(%z[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  func.return
}

// -----

// In a loop: what is allocated in its body is of one iteration. %d is of all of them: the next iteration reads it again.
// CHECK-LABEL: @in_a_loop
func.func @in_a_loop(%x: memref<4x8xf32>, %y: memref<4x8xf32> {inarch.result}) {
  %d = loop.alloc : memref<8xf32>
  // CHECK: ins(%x[0, j] : memref<4x8xf32>) outs(%d[j]
  loop.nest (j = 8) ins(%x[0, j] : memref<4x8xf32>) outs(%d[j] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    loop.yield %0 : f32
  }
  // CHECK: loop.for %i
  loop.for %i = 0 to 4 {
    %row = memref.subview %y[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
    // CHECK: %e = loop.alloc
    // CHECK-NOT: loop.alloc
    %e = loop.alloc : memref<8xf32>
    %f = loop.alloc : memref<8xf32>
    // CHECK: ins(%d[j] : memref<8xf32>) outs(%e[j]
    loop.nest (j = 8) ins(%d[j] : memref<8xf32>) outs(%e[j] : memref<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.negf %a : f32
      loop.yield %0 : f32
    }
    // CHECK: loop.nest (j = 8) outs(%e[j]
    loop.nest (j = 8) ins(%e[j] : memref<8xf32>) outs(%f[j] : memref<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.exp %a : f32
      loop.yield %0 : f32
    }
    // CHECK: ins(%e[j] : memref<8xf32>) outs(%row[0, j]
    loop.nest (j = 8) ins(%f[j] : memref<8xf32>) outs(%row[0, j] : memref<1x8xf32, strided<[8, 1], offset: ?>>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.negf %a : f32
      loop.yield %0 : f32
    }
    loop.yield
  }
  func.return
}

// -----

// What an iteration writes into memory of all iterations is read by the next one.
// CHECK-LABEL: @for_the_next_iteration
func.func @for_the_next_iteration(%x: memref<4x8xf32>, %y: memref<8xf32> {inarch.result}) {
  %d = loop.alloc : memref<8xf32>
  loop.nest (j = 8) ins(%x[0, j] : memref<4x8xf32>) outs(%d[j] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    loop.yield %a : f32
  }
  loop.for %i = 0 to 4 {
    %e = loop.alloc : memref<8xf32>
    // CHECK: ins(%y[j] : memref<8xf32>) outs(%e[j]
    loop.nest (j = 8) ins(%d[j] : memref<8xf32>) outs(%e[j] : memref<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = arith.negf %a : f32
      loop.yield %0 : f32
    }
    // CHECK: ins(%e[j] : memref<8xf32>) outs(%y[j]
    loop.nest (j = 8) ins(%e[j] : memref<8xf32>) outs(%d[j] : memref<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %0 = math.exp %a : f32
      loop.yield %0 : f32
    }
    loop.yield
  }
  loop.nest (j = 8) ins(%d[j] : memref<8xf32>) outs(%y[j] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    loop.yield %0 : f32
  }
  func.return
}

// -----

// In the body of a loop of computed length.
// CHECK-LABEL: func.func @main(%n: memref<i64>, %x: memref<8xf32>, %y: memref<8xf32> {inarch.result}) {
// CHECK-NEXT:    %a = arith.constant 0 : index
// CHECK-NEXT:    %m = memref.load %n[] : memref<i64>
// CHECK-NEXT:    %b = arith.index_cast %m : i64 to index
// CHECK-NEXT:    %one = arith.constant 1 : index
// CHECK-NEXT:    loop.while %i = %a to %b step %one {
// CHECK-NEXT:      %t = loop.alloc : memref<8xf32>
// CHECK-NEXT:      loop.nest (j = 8) ins(%x[j] : memref<8xf32>) outs(%t[j] : memref<8xf32>) {
// CHECK-NEXT:      ^bb0(%e: f32, %o: f32):
// CHECK-NEXT:        %s = math.exp %e : f32
// CHECK-NEXT:        loop.yield %s : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (j = 8) outs(%t[j] : memref<8xf32>) {
// CHECK-NEXT:      ^bb0(%e_1: f32):
// CHECK-NEXT:        %s_1 = math.tanh %e_1 : f32
// CHECK-NEXT:        loop.yield %s_1 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.nest (j = 8) ins(%t[j] : memref<8xf32>) outs(%y[j] : memref<8xf32>) {
// CHECK-NEXT:      ^bb0(%e_2: f32, %o_1: f32):
// CHECK-NEXT:        %s_2 = arith.addf %e_2, %o_1 : f32
// CHECK-NEXT:        loop.yield %s_2 : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @main(%n: memref<i64>, %x: memref<8xf32>, %y: memref<8xf32> {inarch.result}) {
  %a = arith.constant 0 : index
  %m = memref.load %n[] : memref<i64>
  %b = arith.index_cast %m : i64 to index
  %one = arith.constant 1 : index
  loop.while %i = %a to %b step %one {
    %t = loop.alloc : memref<8xf32>
    loop.nest (j = 8) ins(%x[j] : memref<8xf32>) outs(%t[j] : memref<8xf32>) {
    ^bb0(%e: f32, %o: f32):
      %s = math.exp %e : f32
      loop.yield %s : f32
    }
    %u = loop.alloc : memref<8xf32>
    loop.nest (j = 8) ins(%t[j] : memref<8xf32>) outs(%u[j] : memref<8xf32>) {
    ^bb0(%e: f32, %o: f32):
      %s = math.tanh %e : f32
      loop.yield %s : f32
    }
    loop.nest (j = 8) ins(%u[j] : memref<8xf32>) outs(%y[j] : memref<8xf32>) {
    ^bb0(%e: f32, %o: f32):
      %s = arith.addf %e, %o : f32
      loop.yield %s : f32
    }
    loop.yield
  }
  func.return
}

// -----

// It is read at another index as well, which a point before may have written over; and from a view of it.
// CHECK-LABEL: @read_twice
func.func @read_twice(%x: memref<8xf32>, %y: memref<8xf32> {inarch.result}, %z: memref<8xf32> {inarch.result}) {
  // CHECK-NEXT: %[[D:.*]] = loop.alloc
  // CHECK-NEXT: %[[E:.*]] = loop.alloc
  %d = loop.alloc : memref<8xf32>
  %e = loop.alloc : memref<8xf32>
  %v = loop.reshape %e : memref<8xf32> to memref<2x4xf32>
  loop.nest (i = 8) ins(%x[i] : memref<8xf32>) outs(%d[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    loop.yield %0 : f32
  }
  // CHECK: ins(%[[D]][i] : memref<8xf32>, %[[D]][-i + 7] : memref<8xf32>) outs(%y[i]
  loop.nest (i = 8) ins(%d[i] : memref<8xf32>, %d[-i + 7] : memref<8xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    loop.yield %0 : f32
  }
  loop.nest (i = 8) ins(%x[i] : memref<8xf32>) outs(%e[i] : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.absf %a : f32
    loop.yield %0 : f32
  }
  // CHECK: ins(%[[E]][i] : memref<8xf32>, %{{.*}}[0, 3] : memref<2x4xf32>) outs(%z[i]
  loop.nest (i = 8) ins(%e[i] : memref<8xf32>, %v[0, 3] : memref<2x4xf32>) outs(%z[i] : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    loop.yield %0 : f32
  }
  func.return
}

// -----

// An index that was read is not what is written over it; and numbers of another size have not its place.
// CHECK-LABEL: @of_another_kind
func.func @of_another_kind(%x: memref<8xi64>, %t: memref<9xi64>, %y: memref<8xi64> {inarch.result}, %z: memref<8xf32> {inarch.result}) {
  // CHECK-NEXT: %[[D:.*]] = loop.alloc
  // CHECK-NEXT: %[[E:.*]] = loop.alloc
  %d = loop.alloc : memref<8xi64>
  %e = loop.alloc : memref<8xi64>
  loop.nest (i = 8) ins(%x[i] : memref<8xi64>) outs(%d[i] : memref<8xi64>) {
  ^bb0(%a: i64, %o: i64):
    %0 = arith.addi %a, %a : i64
    loop.yield %0 : i64
  }
  // CHECK: ins(%[[D]][i] : memref<8xi64>, %t[at(0)] : memref<9xi64>) outs(%y[i]
  loop.nest (i = 8) ins(%d[i] : memref<8xi64>, %t[at(0)] : memref<9xi64>) outs(%y[i] : memref<8xi64>) {
  ^bb0(%a: i64, %b: i64, %o: i64):
    loop.yield %b : i64
  }
  loop.nest (i = 8) ins(%x[i] : memref<8xi64>) outs(%e[i] : memref<8xi64>) {
  ^bb0(%a: i64, %o: i64):
    %0 = arith.muli %a, %a : i64
    loop.yield %0 : i64
  }
  // CHECK: ins(%[[E]][i] : memref<8xi64>) outs(%z[i]
  loop.nest (i = 8) ins(%e[i] : memref<8xi64>) outs(%z[i] : memref<8xf32>) {
  ^bb0(%a: i64, %o: f32):
    %0 = arith.sitofp %a : i64 to f32
    loop.yield %0 : f32
  }
  func.return
}
