// C4 of loop.for: parallel loops in which an iteration touches what another one writes, or may.
// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// a recurrence
func.func @recurrence(%y: memref<65xf32>) {
  %one = arith.constant 1 : index
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y[%i + 1] where %i = 0 and a read of %y[%i] where %i = 1, of one element; make the loop serial}}
  loop.for %i = 0 to 64 parallel {
    %j = arith.addi %i, %one : index
    %a = memref.load %y[%i] : memref<65xf32>
    memref.store %a, %y[%j] : memref<65xf32>
    loop.yield
  }
  func.return
}

// -----

// a stencil in place
func.func @stencil(%y: memref<8x66xf32>) {
  %one = arith.constant 1 : index
  loop.for %t = 0 to 8 {
    // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y[%t, %i] where %i = 1 and a read of %y[%t, %i - 1] where %i = 2, of one element; make the loop serial}}
    loop.for %i = 1 to 65 parallel {
      %before = arith.subi %i, %one : index
      %after = arith.addi %i, %one : index
      %a = memref.load %y[%t, %before] : memref<8x66xf32>
      %b = memref.load %y[%t, %after] : memref<8x66xf32>
      %c = arith.addf %a, %b : f32
      memref.store %c, %y[%t, %i] : memref<8x66xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}

// -----

// a sum in memory
func.func @sum(%x: memref<64xf32>, %s: memref<1xf32>) {
  %zero = arith.constant 0 : index
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a read of %s[0] where %i = 0 and a write of %s[0] where %i = 1, of one element; make the loop serial}}
  loop.for %i = 0 to 64 parallel {
    %a = memref.load %x[%i] : memref<64xf32>
    %b = memref.load %s[%zero] : memref<1xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %s[%zero] : memref<1xf32>
    loop.yield
  }
  func.return
}

// -----

// written by each iteration; which one is the last?
func.func @last(%x: memref<64xf32>, %s: memref<f32>) {
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %s[] where %i = 3 and a write of %s[] where %i = 8, of one element; make the loop serial}}
  loop.for %i = 3 to 60 step 5 parallel {
    %a = memref.load %x[%i] : memref<64xf32>
    memref.store %a, %s[] : memref<f32>
    loop.yield
  }
  func.return
}

// -----

// a copy within a buffer, behind a condition
func.func @moved(%y: memref<64xf32>, %flag: i1) {
  %by = arith.constant 5 : index
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a read of %y[%i + 5] where %i = 0 and a write of %y[%i] where %i = 5, of one element if both happen; make the loop serial}}
  loop.for %i = 0 to 59 parallel {
    %j = arith.addi %i, %by : index
    scf.if %flag {
      %a = memref.load %y[%j] : memref<64xf32>
      memref.store %a, %y[%i] : memref<64xf32>
    }
    loop.yield
  }
  func.return
}

// -----

// i * 8 + j with j < 9
func.func @radix(%y: memref<65xf32>) {
  %c = arith.constant 1.0 : f32
  %eight = arith.constant 8 : index
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y[%i * 8 + %j] where %i = 0 and a write of %y[%i * 8 + %j] where %i = 1, of one element; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    loop.for %j = 0 to 9 {
      %0 = arith.muli %i, %eight : index
      %1 = arith.addi %0, %j : index
      memref.store %c, %y[%1] : memref<65xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}

// -----

// two parallel loops: only the inner one is independent
func.func @inner(%y: memref<8xf32>) {
  %c = arith.constant 1.0 : f32
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y[%j] where %i = 0 and a write of %y[%j] where %i = 1, of one element; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    loop.for %j = 0 to 8 parallel {
      memref.store %c, %y[%j] : memref<8xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}

// -----

// two parallel loops: only the outer one is independent
func.func @outer(%y: memref<8xf32>) {
  %c = arith.constant 1.0 : f32
  loop.for %i = 0 to 8 parallel {
    // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y[%i] where %j = 0 and a write of %y[%i] where %j = 1, of one element; make the loop serial}}
    loop.for %j = 0 to 8 parallel {
      memref.store %c, %y[%i] : memref<8xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}

// -----

// tiles of four rows, three apart
func.func @tiles(%y: memref<13x4xf32>) {
  %c = arith.constant 1.0 : f32
  %zero = arith.constant 0 : index
  %three = arith.constant 3 : index
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %tile[%j, 0] where %i = 0 and a write of %tile[%j, 0] where %i = 1, of one element; make the loop serial}}
  loop.for %i = 0 to 4 parallel {
    %row = arith.muli %i, %three : index
    %tile = memref.subview %y[%row, 0] [4, 4] [1, 1] : memref<13x4xf32> to memref<4x4xf32, strided<[4, 1], offset: ?>>
    loop.for %j = 0 to 4 {
      memref.store %c, %tile[%j, %zero] : memref<4x4xf32, strided<[4, 1], offset: ?>>
      loop.yield
    }
    loop.yield
  }
  func.return
}

// -----

// a matrix and its flat form
func.func @reshape(%y: memref<8x8xf32>) {
  %flat = loop.reshape %y : memref<8x8xf32> to memref<64xf32>
  %last = arith.constant 15 : index
  %one = arith.constant 1 : index
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a read of %flat[-%i + 15] where %i = 0 and a write of %y[1, %i] where %i = 7, of one element; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    %j = arith.subi %last, %i : index
    %a = memref.load %flat[%j] : memref<64xf32>
    memref.store %a, %y[%one, %i] : memref<8x8xf32>
    loop.yield
  }
  func.return
}

// -----

// a place that is not followed
func.func @scatter(%at: memref<8xi64>, %y: memref<64xf32>) {
  %c = arith.constant 1.0 : f32
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y[%place] and a write of %y[%place], which cannot be shown to be of different elements in different iterations; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    %0 = memref.load %at[%i] : memref<8xi64>
    %place = arith.index_cast %0 : i64 to index
    memref.store %c, %y[%place] : memref<64xf32>
    loop.yield
  }
  func.return
}

// -----

// how far the elements are from each other is an input
func.func @distance(%y: memref<64xf32>, %n: index) {
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a read of %y[%i + %n] and a write of %y[%i], which cannot be shown to be of different elements in different iterations; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    %j = arith.addi %i, %n : index
    %a = memref.load %y[%j] : memref<64xf32>
    memref.store %a, %y[%i] : memref<64xf32>
    loop.yield
  }
  func.return
}

// -----

// a nest writes the same elements in each iteration
func.func @nest(%x: memref<8x4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y[-s + 4] and a write of %y[-s + 4], which cannot be shown to be of different elements in different iterations; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    loop.nest (s = 4, r = 4 reduction) ins(%x[r * 2, s] : memref<8x4xf32>) outs(%y[4 - s] clip : memref<4xf32>) {
    ^bb0(%a: f32, %acc: f32):
      loop.yield %a : f32
    }
    loop.yield
  }
  func.return
}

// -----

// and so does a pack
func.func @pack(%x: memref<4xf32>, %y: memref<2x3xf32>) {
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y where %i = 0 and a write of %y where %i = 1, of one element; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    kernel.pack %x[a * 3 + b] to %y[a, b] : memref<4xf32>, memref<2x3xf32>
    loop.yield
  }
  func.return
}

// -----

// and a kernel, whose operand another iteration reads
kernel.def @scale computes "for i in n: Y[i] = 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>,
    #kernel.operand<Y : f32 write rank 1 align 4>] needs [] source "void scale(void);"
func.func @kernel(%x: memref<64xf32>, %y: memref<64xf32>) {
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y (operand Y of @scale) where %i = 0 and a write of %y (operand Y of @scale) where %i = 1, of one element; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    %a = memref.load %y[%i] : memref<64xf32>
    kernel.call @scale for (j in 2) (%x[j] strides [2], %y[j * 16 + 32] strides [2]) sizes [4]
      : memref<64xf32>, memref<64xf32>
    loop.yield
  }
  func.return
}

// -----

// and a function, in what it calls
func.func private @iteration(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  loop.nest (i = 4, j = 4) ins(%a[j, i] : memref<4x4xf32>) outs(%b[i, j] : memref<4x4xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}
func.func private @around(%c: memref<4x4xf32>, %d: memref<4x4xf32>) {
  loop.call @iteration(%c, %d) : memref<4x4xf32>, memref<4x4xf32>
  func.return
}
func.func @call(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %b[i, j] in @iteration where %i = 0 and a write of %b[i, j] in @iteration where %i = 1, of one element; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    loop.call @around(%x, %y) : memref<4x4xf32>, memref<4x4xf32>
    loop.yield
  }
  func.return
}

// -----

// an import writes its last argument
func.func private @ext(memref<4xf32>, memref<4xf32>)
func.func @import(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y where %i = 0 and a write of %y where %i = 1, of one element; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    loop.call @ext(%x, %y) : memref<4xf32>, memref<4xf32>
    loop.yield
  }
  func.return
}

// -----

// a function that calls itself may do anything
func.func private @again(%a: memref<4xf32>) {
  loop.call @again(%a) : memref<4xf32>
  func.return
}
func.func @recursive(%x: memref<4xf32>) {
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %a in @again and a write of %a in @again, which cannot be shown to be of different elements in different iterations; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    loop.call @again(%x) : memref<4xf32>
    loop.yield
  }
  func.return
}

// -----

// another name of a buffer, of what we do not know
func.func @other_name(%x: memref<9xf32>) {
  %y = "memref.cast"(%x) : (memref<9xf32>) -> memref<9xf32>
  %one = arith.constant 1 : index
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %y[%i] and a read of %x[%i + 1], which cannot be shown to be of different elements in different iterations; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    %j = arith.addi %i, %one : index
    %a = memref.load %x[%j] : memref<9xf32>
    memref.store %a, %y[%i] : memref<9xf32>
    loop.yield
  }
  func.return
}

// -----

// a size that is not known: not how far a row is from the next one
func.func @dynamic(%x: memref<?x?xf32>) {
  %c = arith.constant 1.0 : f32
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %x[%i, %i] and a write of %x[%i, %i], which cannot be shown to be of different elements in different iterations; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    memref.store %c, %x[%i, %i] : memref<?x?xf32>
    loop.yield
  }
  func.return
}

// -----

// a view whose type says another place than it has
func.func @view(%x: memref<8x8xf32>) {
  %c = arith.constant 1.0 : f32
  loop.for %i = 0 to 8 parallel {
    // expected-error @below {{'memref.subview' expected a result of strided<[1], offset: ?>, found memref<8xf32, strided<[1]>>}}
    %row = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<8x8xf32> to memref<8xf32, strided<[1]>>
    memref.store %c, %row[%i] : memref<8xf32, strided<[1]>>
    loop.yield
  }
  func.return
}

// -----

// the kernel's own error comes first
kernel.def @two computes "for i in n: Y[i] = 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>,
    #kernel.operand<Y : f32 write rank 1 align 4>] needs [] source "void two(void);"
func.func @fits(%x: memref<64xf32>) {
  loop.for %i = 0 to 8 parallel {
    // expected-error @below {{'kernel.call' C4: expected 2 operands, found 1}}
    kernel.call @two(%x[0] strides [1]) sizes [4] : memref<64xf32>
    loop.yield
  }
  func.return
}

// -----

// a nest in it reads any row of the column that the loop writes
func.func @picked_rows(%ids: memref<1xi64>, %t: memref<9x4xf32>) {
  %zero = arith.constant 0 : index
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a read of %t[at(0), 3] and a write of %t[%i, 3], which cannot be shown to be of different elements in different iterations; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    %e = loop.alloc : memref<1xf32>
    loop.nest (j = 1) ins(%ids[j] : memref<1xi64>, %t[at(0), 3] : memref<9x4xf32>) outs(%e[j] : memref<1xf32>) {
    ^bb0(%a: i64, %x: f32, %o: f32):
      loop.yield %x : f32
    }
    %x = memref.load %e[%zero] : memref<1xf32>
    %three = arith.constant 3 : index
    memref.store %x, %t[%i, %three] : memref<9x4xf32>
    loop.yield
  }
  func.return
}

// -----

// a number that is loaded in each iteration is another one where the loop stores to it
func.func @stored(%x: memref<64xf32>, %n: memref<1xindex>) {
  %c = arith.constant 1.0 : f32
  %zero = arith.constant 0 : index
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a read of %n[0] where %i = 0 and a write of %n[0] where %i = 1, of one element; make the loop serial}}
  loop.for %i = 0 to 8 parallel {
    %k = memref.load %n[%zero] : memref<1xindex>
    %at = arith.addi %k, %i : index
    memref.store %c, %x[%at] : memref<64xf32>
    memref.store %at, %n[%zero] : memref<1xindex>
    loop.yield
  }
  func.return
}

// -----

// a number of which only a range is known meets another one perhaps
func.func @perhaps(%x: memref<4x8xf32>, %first: index) {
  %zero = arith.constant 0 : index
  %i = arith.maxsi %first, %zero : index
  // expected-error @below {{'loop.for' C4: expected independent iterations of a parallel loop, found a write of %x[0, %j] and a read of %x[%i, 0], which cannot be shown to be of different elements in different iterations; make the loop serial}}
  loop.for %j = 0 to 8 parallel {
    %v = memref.load %x[%i, %zero] : memref<4x8xf32>
    memref.store %v, %x[%zero, %j] : memref<4x8xf32>
    loop.yield
  }
  func.return
}
