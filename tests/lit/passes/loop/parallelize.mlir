// RUN: inarch-opt %s --split-input-file -p parallelize | filecheck %s
// RUN: inarch-opt %s --split-input-file -p parallelize --verify-diagnostics --remarks -o %t
// RUN: inarch-opt %s --split-input-file -p 'parallelize{threads=1}' | filecheck %s --check-prefix=ALONE
// RUN: not inarch-opt %s --split-input-file -p 'parallelize{threads=-1}' 2>&1 | filecheck %s --check-prefix=WRONG
// ALONE-NOT: {{(=|in) [0-9]+ parallel}}
// WRONG: error: parallelize: threads: expected a whole number from 0 on, found -1

// The outermost iterator whose iterations write different elements, where all divide among the machine's cores.
// CHECK-LABEL: @elementwise
// CHECK: loop.nest (i = 64 parallel, j = 4096)
func.func @elementwise(%x: memref<64x4096xf32>, %y: memref<64x4096xf32>) {
  // expected-remark @below {{[parallelize] threads share the 64 iterations of i,}}
  loop.nest (i = 64, j = 4096) ins(%x[i, j] : memref<64x4096xf32>) outs(%y[i, j] : memref<64x4096xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// Of 3 iterations one of two threads has 2.
// CHECK-LABEL: @three
// CHECK: loop.nest (i = 3, j = 65536 parallel)
func.func @three(%x: memref<3x65536xf32>, %y: memref<3x65536xf32>) {
  // expected-remark @below {{threads share the 65536 iterations of j}}
  loop.nest (i = 3, j = 65536) ins(%x[i, j] : memref<3x65536xf32>) outs(%y[i, j] : memref<3x65536xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// What is small is one thread's.
// CHECK-LABEL: @small
// CHECK: loop.nest (i = 64, j = 64) ins
func.func @small(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  loop.nest (i = 64, j = 64) ins(%x[i, j] : memref<64x64xf32>) outs(%y[i, j] : memref<64x64xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// A sum is one thread's.
// CHECK-LABEL: @one_sum
// CHECK: loop.nest (k = 1048576 reduction) ins
func.func @one_sum(%x: memref<1048576xf32>, %y: memref<1xf32>) {
  // expected-remark @below {{[parallelize] missed: one thread: no loop to share,}}
  loop.nest (k = 1048576 reduction) ins(%x[k] : memref<1048576xf32>) outs(%y[0] init 0.0 : memref<1xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  func.return
}

// -----

// A tile inside the reduction is one thread's, and what its author scheduled stays.
// CHECK-LABEL: @inside
// CHECK: loop.nest (k = 4096 reduction, i = 256) ins
// CHECK: loop.nest (i = 64, j = 4096) {{.*}}attributes {inarch.keep}
func.func @inside(%x: memref<4096x256xf32>, %y: memref<256xf32>, %z: memref<64x4096xf32>, %w: memref<64x4096xf32>) {
  // expected-remark @below {{[parallelize] missed: one thread: no loop to share,}}
  loop.nest (k = 4096 reduction, i = 256) ins(%x[k, i] : memref<4096x256xf32>) outs(%y[i] init 0.0 : memref<256xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    loop.yield %s : f32
  }
  loop.nest (i = 64, j = 4096) ins(%z[i, j] : memref<64x4096xf32>) outs(%w[i, j] : memref<64x4096xf32>) attributes {inarch.keep} {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// The columns, of which each thread reads its part of B only, not the rows, for which each reads all of B.
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
// CHECK-LABEL: @product
// CHECK: kernel.call @gemm for (i in 64, j in 64 parallel) (
func.func @product(%a: memref<256x1024xf32>, %b: memref<1024x1024xf32>, %c: memref<256x1024xf32>) {
  // expected-remark @below {{threads share the 64 iterations of j}}
  kernel.call @gemm for (i in 64, j in 64) (%a[i * 4096] strides [1024, 1], %b[j * 16] strides [1024, 1], %c[i * 4096 + j * 16] strides [1024, 1]) sizes [1024] : memref<256x1024xf32>, memref<1024x1024xf32>, memref<256x1024xf32>
  func.return
}

// -----

// Tiles that overlap: neighbours would write one element at once, so the rows it is.
kernel.def @gemm computes "for m in 4, n in 16, k in K: C[m, n] += A[m, k] * B[k, n]" arguments [#kernel.operand<A : f32 read rank 2 align 4>, #kernel.operand<B : f32 read rank 2 align 4>, #kernel.operand<C : f32 update rank 2 align 4>] needs [] source "x"
// CHECK-LABEL: @overlapping
// CHECK: kernel.call @gemm for (j in 8, i in 8 parallel) (
func.func @overlapping(%a: memref<32x1024xf32>, %b: memref<1024x72xf32>, %c: memref<32x72xf32>) {
  // expected-remark @below {{threads share the 8 iterations of i}}
  kernel.call @gemm for (j in 8, i in 8) (%a[i * 4096] strides [1024, 1], %b[j * 8] strides [72, 1], %c[i * 288 + j * 8] strides [72, 1]) sizes [1024] : memref<32x1024xf32>, memref<1024x72xf32>, memref<32x72xf32>
  func.return
}

// -----

// A copy into another layout becomes the nest that it is.
// CHECK-LABEL: @pack
// CHECK-NOT: kernel.pack
// CHECK: loop.nest (d0 = 64 parallel, d1 = 1024, d2 = 16) ins(%w[d0 * 16 + d2, d1] pad 0.0
// CHECK: kernel.pack
func.func @pack(%w: memref<1020x1024xf32>, %p: memref<64x1024x16xf32>, %s: memref<20x3xf32>, %q: memref<2x3x16xf32>) {
  // expected-remark @below {{threads share the 64 iterations of d0}}
  kernel.pack %w[o * 16 + v, i] to %p[o, i, v] : memref<1020x1024xf32>, memref<64x1024x16xf32>
  kernel.pack %s[o * 16 + v, i] to %q[o, i, v] : memref<20x3xf32>, memref<2x3x16xf32>
  func.return
}

// -----

// A loop that carries something runs in order, and what is in each of its iterations is shared; so is that of a branch, and
// of a loop of computed length.
// CHECK-LABEL: @iterations
// CHECK: loop.for %t = 0 to 5 {
// CHECK: loop.nest (i = 64 parallel, j = 4096)
// CHECK: loop.while
// CHECK: loop.nest (i = 64 parallel, j = 4096)
// CHECK: scf.if
// CHECK: loop.nest (i = 64 parallel, j = 4096)
func.func @iterations(%x: memref<64x4096xf32>, %n: memref<i64>, %c: memref<i1>, %y: memref<64x4096xf32> {inarch.result}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = memref.load %n[] : memref<i64>
  %most = arith.index_cast %m : i64 to index
  %flag = memref.load %c[] : memref<i1>
  // expected-remark @below {{missed: one thread: a write of %y}}
  loop.for %t = 0 to 5 {
    // expected-remark @below {{threads share the 64 iterations of i}}
    loop.nest (i = 64, j = 4096) ins(%x[i, j] : memref<64x4096xf32>) outs(%y[i, j] : memref<64x4096xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %s = arith.addf %a, %acc : f32
      loop.yield %s : f32
    }
    loop.yield
  }
  loop.while %t = %zero to %most step %one {
    // expected-remark @below {{threads share the 64 iterations of i}}
    loop.nest (i = 64, j = 4096) ins(%x[i, j] : memref<64x4096xf32>) outs(%y[i, j] : memref<64x4096xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %s = arith.addf %a, %acc : f32
      loop.yield %s : f32
    }
    loop.yield
  }
  scf.if %flag {
    // expected-remark @below {{threads share the 64 iterations of i}}
    loop.nest (i = 64, j = 4096) ins(%x[i, j] : memref<64x4096xf32>) outs(%y[i, j] : memref<64x4096xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %s = arith.addf %a, %acc : f32
      loop.yield %s : f32
    }
  }
  func.return
}

// -----

// A parallel loop of at most one iteration runs in order, so that threads share the loop in it, which uses its iterator. So
// does a serial loop, whatever its bounds are.
// CHECK-LABEL: @one_iteration
// CHECK: loop.for %i = 0 to %one {
// CHECK: loop.for %j = 0 to 64 parallel {
// CHECK: loop.for %k = 0 to 1 {
// CHECK: loop.for %l = 0 to %m {
// CHECK: loop.nest (j = 64 parallel, l = 4096)
func.func @one_iteration(%x: memref<1x64xf32>, %y: memref<1x64xf32>, %z: memref<1x64x4096xf32>, %n: index) {
  %one = arith.constant 1 : index
  %m = arith.minsi %n, %one : index
  loop.for %i = 0 to %one parallel {
    // expected-remark @below {{threads share the 64 iterations of j,}}
    loop.for %j = 0 to 64 parallel {
      %v = memref.load %x[%i, %j] : memref<1x64xf32>
      memref.store %v, %y[%i, %j] : memref<1x64xf32>
      loop.yield
    }
    loop.yield
  }
  loop.for %k = 0 to 1 {
    loop.for %l = 0 to %m {
      %s = memref.subview %z[%l, 0, 0] [1, 64, 4096] [1, 1, 1] : memref<1x64x4096xf32> to memref<64x4096xf32, strided<[4096, 1], offset: ?>>
      // expected-remark @below {{threads share the 64 iterations of j,}}
      loop.nest (j = 64, l = 4096) outs(%s[j, l] : memref<64x4096xf32, strided<[4096, 1], offset: ?>>) {
      ^bb0(%acc: f32):
        %t = arith.addf %acc, %acc : f32
        loop.yield %t : f32
      }
      loop.yield
    }
    loop.yield
  }
  func.return
}
