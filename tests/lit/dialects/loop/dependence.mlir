// C4 of loop.for: parallel loops whose iterations are independent.
// RUN: inarch-opt %s | inarch-opt | filecheck %s

// An element an iteration; the same one is read and written by its own iteration only.
// CHECK-LABEL: func.func @elements
// CHECK: parallel
func.func @elements(%x: memref<64xf32>, %y: memref<64xf32>) {
  loop.for %i = 0 to 64 parallel {
    %a = memref.load %x[%i] : memref<64xf32>
    %b = memref.load %y[%i] : memref<64xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %y[%i] : memref<64xf32>
    loop.yield
  }
  func.return
}

// Reads may overlap, also at places that are not known, as long as nothing writes there.
func.func @reads(%x: memref<66xf32>, %y: memref<64xf32>) {
  %one = arith.constant 1 : index
  %last = arith.constant 7 : index
  loop.for %i = 0 to 64 parallel {
    %j = arith.addi %i, %one : index
    %k = arith.minsi %i, %last : index
    %a = memref.load %x[%i] : memref<66xf32>
    %b = memref.load %x[%j] : memref<66xf32>
    %d = memref.load %x[%k] : memref<66xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %y[%i] : memref<64xf32>
    loop.yield
  }
  func.return
}

// By the greatest common divisor: even elements are made of odd ones.
func.func @even(%y: memref<64xf32>) {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  loop.for %i = 0 to 32 parallel {
    %even = arith.muli %i, %two : index
    %odd = arith.addi %even, %one : index
    %a = memref.load %y[%odd] : memref<64xf32>
    memref.store %a, %y[%even] : memref<64xf32>
    loop.yield
  }
  func.return
}

// By ranges: the first half is made of the second.
func.func @halves(%y: memref<64xf32>) {
  %half = arith.constant 32 : index
  loop.for %i = 0 to 32 parallel {
    %j = arith.addi %i, %half : index
    %a = memref.load %y[%j] : memref<64xf32>
    memref.store %a, %y[%i] : memref<64xf32>
    loop.yield
  }
  func.return
}

// By the step of the loop: 3 elements an iteration, of which no other one is near enough.
func.func @step(%y: memref<64xf32>) {
  %two = arith.constant 2 : index
  loop.for %i = 0 to 62 step 3 parallel {
    %j = arith.addi %i, %two : index
    %a = memref.load %y[%j] : memref<64xf32>
    memref.store %a, %y[%i] : memref<64xf32>
    loop.yield
  }
  func.return
}

// By mixed radix: i * 8 + j with j < 8; and that of two parallel loops, one in the other.
func.func @radix(%y: memref<64xf32>, %z: memref<64xf32>) {
  %c = arith.constant 1.0 : f32
  %eight = arith.constant 8 : index
  loop.for %i = 0 to 8 parallel {
    loop.for %j = 0 to 8 {
      %0 = arith.muli %i, %eight : index
      %1 = arith.addi %0, %j : index
      memref.store %c, %y[%1] : memref<64xf32>
      loop.yield
    }
    loop.for %k = 0 to 8 parallel {
      %2 = arith.muli %k, %eight : index
      %3 = arith.addi %2, %i : index
      memref.store %c, %z[%3] : memref<64xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}

// Row by row; the loop around it is not parallel, so that it may come to a row again. One of one iteration,
// and one that never runs.
func.func @rows(%y: memref<8x8xf32>, %s: memref<1xf32>, %n: index) {
  %c = arith.constant 1.0 : f32
  %zero = arith.constant 0 : index
  loop.for %t = 0 to 8 {
    loop.for %i = 0 to 8 parallel {
      memref.store %c, %y[%i, %t] : memref<8x8xf32>
      memref.store %c, %y[%i, %n] : memref<8x8xf32>
      loop.yield
    }
    loop.yield
  }
  loop.for %i = 0 to 1 parallel {
    memref.store %c, %s[%zero] : memref<1xf32>
    loop.yield
  }
  loop.for %t = 0 to 0 {
    loop.for %i = 0 to 8 parallel {
      memref.store %c, %s[%zero] : memref<1xf32>
      loop.yield
    }
    loop.yield
  }
  loop.for %i = 0 to 8 parallel {
    loop.for %j = 0 to 0 {
      memref.store %c, %s[%zero] : memref<1xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}

// Tiles of a matrix that do not overlap, by views whose offsets the loop computes, and a view of its row.
func.func @tiles(%y: memref<16x6xf32>) {
  %c = arith.constant 1.0 : f32
  %four = arith.constant 4 : index
  loop.for %i = 0 to 4 parallel {
    %row = arith.muli %i, %four : index
    %tile = memref.subview %y[%row, 1] [4, 2] [1, 2]
      : memref<16x6xf32> to memref<4x2xf32, strided<[6, 2], offset: ?>>
    loop.for %j = 0 to 4 {
      %part = memref.subview %tile[%j, 0] [1, 2] [1, 1]
        : memref<4x2xf32, strided<[6, 2], offset: ?>> to memref<2xf32, strided<[2], offset: ?>>
      loop.for %k = 0 to 2 {
        memref.store %c, %part[%k] : memref<2xf32, strided<[2], offset: ?>>
        loop.yield
      }
      loop.yield
    }
    loop.yield
  }
  func.return
}

// Through a reshape: an iteration has a row of the matrix, and the elements of it in the flat form.
func.func @reshape(%y: memref<8x8xf32>) {
  %eight = arith.constant 8 : index
  %flat = loop.reshape %y : memref<8x8xf32> to memref<64xf32>
  loop.for %i = 0 to 8 parallel {
    loop.for %j = 0 to 8 {
      %0 = arith.muli %i, %eight : index
      %1 = arith.addi %0, %j : index
      %a = memref.load %flat[%1] : memref<64xf32>
      memref.store %a, %y[%i, %j] : memref<8x8xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}

kernel.def @scale computes "for i in n: Y[i] = 2 * X[i]" arguments [
    #kernel.operand<X : f32 read rank 1 align 4>,
    #kernel.operand<Y : f32 write rank 1 align 4>] needs [] source "void scale(void);"
func.func private @iteration(%a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  loop.nest (i = 4, j = 4) ins(%a[j, i] : memref<4x4xf32>) outs(%b[i, j] : memref<4x4xf32>) {
  ^bb0(%x: f32, %acc: f32):
    loop.yield %x : f32
  }
  func.return
}

// Nests, packs, kernels and calls write to a buffer that is each iteration's own.
func.func @own(%x: memref<4x4xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0 : index
  loop.for %i = 0 to 4 parallel {
    %s = loop.alloc : memref<4x4xf32>
    %t = loop.alloc : memref<4x4xf32>
    %u = loop.alloc : memref<4x4xf32>
    kernel.pack %x[c, d] to %s[c, d] : memref<4x4xf32>, memref<4x4xf32>
    loop.call @iteration(%s, %t) : memref<4x4xf32>, memref<4x4xf32>
    kernel.call @scale(%t[0] strides [1], %u[0] strides [1]) sizes [16] : memref<4x4xf32>, memref<4x4xf32>
    loop.nest (i = 4, j = 4 reduction) ins(%u[i, j] : memref<4x4xf32>) outs(%t[i, 0] init 0.0 : memref<4x4xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %sum = arith.addf %a, %acc : f32
      loop.yield %sum : f32
    }
    %v = memref.load %t[%i, %zero] : memref<4x4xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    loop.yield
  }
  func.return
}

// A nest in a loop reads any row of a table, of which the loop writes another column.
// CHECK-LABEL: func.func @picked_columns
// CHECK: parallel
func.func @picked_columns(%ids: memref<8xi64>, %t: memref<9x4xf32>) {
  loop.for %i = 0 to 8 parallel {
    %v = loop.alloc : memref<1xi64>
    %e = loop.alloc : memref<1xf32>
    %zero = arith.constant 0 : index
    %k = memref.load %ids[%i] : memref<8xi64>
    memref.store %k, %v[%zero] : memref<1xi64>
    loop.nest (j = 1) ins(%v[j] : memref<1xi64>, %t[at(0), 3] : memref<9x4xf32>) outs(%e[j] : memref<1xf32>) {
    ^bb0(%a: i64, %x: f32, %o: f32):
      loop.yield %x : f32
    }
    %x = memref.load %e[%zero] : memref<1xf32>
    %one = arith.constant 1 : index
    memref.store %x, %t[%i, %one] : memref<9x4xf32>
    loop.yield
  }
  func.return
}

// A number that is stored before the loop, and loaded in each iteration, is the same in all of them: rows that are known
// by their addresses alone are apart.
// CHECK-LABEL: func.func @loaded
// CHECK: parallel
func.func @loaded(%x: memref<28x34xf32>, %y: memref<28x34xf32>, %first: i64) {
  %zero = arith.constant 0 : index
  %n = loop.alloc : memref<1xi64>
  memref.store %first, %n[%zero] : memref<1xi64>
  loop.for %j = 0 to 34 step 17 parallel {
    %word = memref.load %n[%zero] : memref<1xi64>
    %i = arith.index_cast %word : i64 to index
    %s = memref.subview %x[%i, %j] [14, 17] [1, 1] : memref<28x34xf32> to memref<14x17xf32, strided<[34, 1], offset: ?>>
    kernel.call @scale for (m in 14) (%y[0] strides [1], %s[m * 34] strides [1]) sizes [17] : memref<28x34xf32>, memref<14x17xf32, strided<[34, 1], offset: ?>>
    loop.yield
  }
  func.return
}

// Of a number that has been between two others, that is known: row 0 is none that is read.
// CHECK-LABEL: func.func @between
// CHECK: parallel
func.func @between(%x: memref<4x8xf32>, %first: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %i = arith.maxsi %first, %one : index
  loop.for %j = 0 to 8 parallel {
    %v = memref.load %x[%i, %zero] : memref<4x8xf32>
    memref.store %v, %x[%zero, %j] : memref<4x8xf32>
    loop.yield
  }
  func.return
}
