// RUN: inarch-opt %s --split-input-file -p outline-nests | filecheck %s

// Arguments are the nest's operands, in order, one a use; names of values do not matter for sharing.
func.func @equal_nests_share_a_kernel(%x: memref<4x8xf32>, %w: memref<8x6xf32>, %v: memref<8x6xf32>, %y: memref<4x6xf32> {inarch.result}, %z: memref<4x6xf32> {inarch.result}, %u: memref<4x6xf32> {inarch.result}) {
  loop.nest (m = 4, n = 6, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>, %w[k, n] : memref<8x6xf32>) outs(%y[m, n] init 0.0 : memref<4x6xf32>) {
  ^bb0(%e: f32, %f: f32, %acc: f32):
    %p = arith.mulf %e, %f : f32
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  loop.nest (m = 4, n = 6, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>, %v[k, n] : memref<8x6xf32>) outs(%z[m, n] init 0.0 : memref<4x6xf32>) {
  ^bb0(%left: f32, %right: f32, %total: f32):
    %product = arith.mulf %left, %right : f32
    %sum = arith.addf %total, %product : f32
    loop.yield %sum : f32
  }
  loop.nest (m = 4, n = 6, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>, %v[k, n] : memref<8x6xf32>) outs(%u[m, n] init 1.0 : memref<4x6xf32>) {
  ^bb0(%left: f32, %right: f32, %total: f32):
    %product = arith.mulf %left, %right : f32
    %sum = arith.addf %total, %product : f32
    loop.yield %sum : f32
  }
  func.return
}
// CHECK-LABEL: func.func @equal_nests_share_a_kernel
// CHECK-NEXT:    loop.call @[[K:contract_4x6x8_[0-9a-f]+]](%x, %w, %y) : memref<4x8xf32>, memref<8x6xf32>, memref<4x6xf32>
// CHECK-NEXT:    loop.call @[[K]](%x, %v, %z)
// CHECK-NEXT:    loop.call @[[OTHER:contract_4x6x8_[0-9a-f]+]](%x, %v, %u)
// CHECK-NEXT:    func.return
// CHECK:       func.func private @[[K]](%x: memref<4x8xf32>, %w: memref<8x6xf32>, %y: memref<4x6xf32>) attributes {inarch.kernel} {
// CHECK-NEXT:    loop.nest (m = 4, n = 6, k = 8 reduction) ins(%x[m, k] : memref<4x8xf32>, %w[k, n] : memref<8x6xf32>) outs(%y[m, n] init 0.0 : memref<4x6xf32>) {
// CHECK-NEXT:    ^bb0(%e: f32, %f: f32, %acc: f32):
// CHECK:         func.return
// CHECK:       func.func private @[[OTHER]]
// CHECK-NOT:   func.func

// -----

// Of the same ops on other values two nests are two kernels.
func.func @differences(%x: memref<4xf32>, %w: memref<4xf32>, %y: memref<4xf32> {inarch.result}, %z: memref<4xf32> {inarch.result}) {
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>, %w[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
  ^bb0(%e: f32, %f: f32, %acc: f32):
    %s = arith.subf %e, %f : f32
    loop.yield %s : f32
  }
  loop.nest (i = 4) ins(%x[i] : memref<4xf32>, %w[i] : memref<4xf32>) outs(%z[i] : memref<4xf32>) {
  ^bb0(%e: f32, %f: f32, %acc: f32):
    %s = arith.subf %f, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: func.func @differences
// CHECK-NEXT:    loop.call @[[ONE:map_4_[0-9a-f]+]](%x, %w, %y)
// CHECK-NEXT:    loop.call @[[TWO:map_4_[0-9a-f]+]](%x, %w, %z)
// CHECK:       func.func private @[[ONE]]
// CHECK:         arith.subf %e, %f
// CHECK:       func.func private @[[TWO]]
// CHECK:         arith.subf %f, %e

// -----

func.func @a_buffer_that_is_read_twice_is_passed_twice(%x: memref<4x4xf32>, %y: memref<4x4xf32> {inarch.result}) {
  loop.nest (i = 4, j = 4) ins(%x[i, j] : memref<4x4xf32>, %x[j, i] : memref<4x4xf32>) outs(%y[i, j] : memref<4x4xf32>) {
  ^bb0(%e: f32, %f: f32, %acc: f32):
    %s = arith.addf %e, %f : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: func.func @a_buffer_that_is_read_twice_is_passed_twice
// CHECK-NEXT:    loop.call @map_4x4_{{[0-9a-f]+}}(%x, %x, %y)

// -----

// Strided layouts stay; the name tells a copy, a reduction and a loop from each other.
func.func @names_say_what_a_kernel_does(%x: memref<4x4xf32, strided<[8, 1]>>, %y: memref<4x4xf32>, %z: memref<4xf32>, %o: memref<4xf32> {inarch.result}) {
  %two = arith.constant 2 : index
  loop.nest (i = 4, j = 4) ins(%x[i, j] : memref<4x4xf32, strided<[8, 1]>>) outs(%y[i, j] : memref<4x4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 4, j = 4 reduction) ins(%y[i, j] : memref<4x4xf32>) outs(%z[i] init -inf : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.maximumf %acc, %e : f32
    loop.yield %s : f32
  }
  loop.for %i = 0 to 4 {
    loop.for %j = 0 to 4 step 2 {
      %v = memref.load %z[%two] : memref<4xf32>
      memref.store %v, %o[%i] : memref<4xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}
// CHECK-LABEL: func.func @names_say_what_a_kernel_does
// CHECK-NEXT:    loop.call @[[COPY:copy_4x4_[0-9a-f]+]](%x, %y) : memref<4x4xf32, strided<[8, 1]>>, memref<4x4xf32>
// CHECK-NEXT:    loop.call @[[REDUCE:reduce_4x4_[0-9a-f]+]](%y, %z)
// CHECK-NEXT:    loop.call @[[LOOP:loop_4x2_[0-9a-f]+]](%z, %o)
// CHECK-NEXT:    func.return
// CHECK:       func.func private @[[COPY]](%x: memref<4x4xf32, strided<[8, 1]>>,
// CHECK:       func.func private @[[REDUCE]]
// CHECK:       func.func private @[[LOOP]](%z: memref<4xf32>, %o: memref<4xf32>) attributes {inarch.kernel} {
// CHECK-NEXT:    %two = arith.constant 2 : index
// CHECK-NEXT:    loop.for

// -----

func.func private @helper(%x: memref<4xf32>) {
  loop.nest (i = 4) outs(%x[i] : memref<4xf32>) {
  ^bb0(%acc: f32):
    %s = arith.negf %acc : f32
    loop.yield %s : f32
  }
  func.return
}
func.func @keeps_private_functions_and_calls(%x: memref<4xf32>) {
  loop.call @helper(%x) : memref<4xf32>
  func.return
}
// CHECK-LABEL: func.func private @helper
// CHECK-NEXT:    loop.nest
// CHECK-LABEL: func.func @keeps_private_functions_and_calls
// CHECK-NEXT:    loop.call @helper(%x) : memref<4xf32>
// CHECK-NEXT:    func.return

// -----

func.func @a_pack_that_is_still_there_is_a_kernel_too(%w: memref<20x3xf32>, %p: memref<2x3x16xf32> {inarch.result}) {
  kernel.pack %w[o * 16 + v, i] to %p[o, i, v] : memref<20x3xf32>, memref<2x3x16xf32>
  func.return
}
// CHECK-LABEL: func.func @a_pack_that_is_still_there_is_a_kernel_too
// CHECK-NEXT:    loop.call @[[PACK:pack_2x3x16_[0-9a-f]+]](%w, %p) : memref<20x3xf32>, memref<2x3x16xf32>
// CHECK:       func.func private @[[PACK]](%w: memref<20x3xf32>, %p: memref<2x3x16xf32>) attributes {inarch.kernel} {
// CHECK-NEXT:    kernel.pack %w[d0 * 16 + d2, d1] to %p[d0, d1, d2] : memref<20x3xf32>, memref<2x3x16xf32>

// -----

func.func @a_scan_is_called_one(%x: memref<4x8xf32>, %y: memref<4x8xf32> {inarch.result}) {
  loop.nest (i = 4, k = 8 scan) ins(%x[i, k] : memref<4x8xf32>) outs(%y[i, k] init 0.0 : memref<4x8xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-LABEL: func.func @a_scan_is_called_one
// CHECK-NEXT:    loop.call @scan_4x8_{{[0-9a-f]+}}(%x, %y)

// -----

// A branch of the function stays; what is in it does not.
func.func @branches(%c: memref<i1>, %x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
  %f = memref.load %c[] : memref<i1>
  scf.if %f {
    loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
    ^bb0(%e: f32, %old: f32):
      %n = arith.negf %e : f32
      loop.yield %n : f32
    }
  } else {
    loop.nest (i = 4) ins(%x[i] : memref<4xf32>) outs(%y[i] : memref<4xf32>) {
    ^bb0(%e: f32, %old: f32):
      loop.yield %e : f32
    }
  }
  func.return
}
// CHECK-LABEL: func.func @branches
// CHECK-NEXT:    %f = memref.load %c[] : memref<i1>
// CHECK-NEXT:    scf.if %f {
// CHECK-NEXT:      loop.call @map_4_{{[0-9a-f]+}}(%x, %y)
// CHECK-NEXT:    } else {
// CHECK-NEXT:      loop.call @copy_4_{{[0-9a-f]+}}(%x, %y)
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

// -----

// A loop of computed length stays; what is in it is kernels.
// CHECK-LABEL: func.func @main(%n: memref<i64>, %go: memref<i1>, %x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %one = arith.constant 1 : index
// CHECK-NEXT:    %m = memref.load %n[] : memref<i64>
// CHECK-NEXT:    %most = arith.index_cast %m : i64 to index
// CHECK-NEXT:    loop.while %i = %zero to %most step %one if %go : memref<i1> {
// CHECK-NEXT:      loop.call @[[K0:map_4_[0-9a-f]+]](%x, %y) : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:      loop.call @[[K1:loop_4_[0-9a-f]+]](%y) : memref<4xf32>
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
// CHECK-NEXT:  func.func private @[[K0]](%x: memref<4xf32>, %y: memref<4xf32>) attributes {inarch.kernel} {
// CHECK-NEXT:    loop.nest (j = 4) ins(%x[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
// CHECK-NEXT:    ^bb0(%e: f32, %o: f32):
// CHECK-NEXT:      %s = arith.addf %e, %o : f32
// CHECK-NEXT:      loop.yield %s : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
// CHECK-NEXT:  func.func private @[[K1]](%y: memref<4xf32>) attributes {inarch.kernel} {
// CHECK-NEXT:    loop.for %j = 0 to 4 {
// CHECK-NEXT:      %v = memref.load %y[%j] : memref<4xf32>
// CHECK-NEXT:      memref.store %v, %y[%j] : memref<4xf32>
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @main(%n: memref<i64>, %go: memref<i1>, %x: memref<4xf32>, %y: memref<4xf32> {inarch.result}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = memref.load %n[] : memref<i64>
  %most = arith.index_cast %m : i64 to index
  loop.while %i = %zero to %most step %one if %go : memref<i1> {
    loop.nest (j = 4) ins(%x[j] : memref<4xf32>) outs(%y[j] : memref<4xf32>) {
    ^bb0(%e: f32, %o: f32):
      %s = arith.addf %e, %o : f32
      loop.yield %s : f32
    }
    loop.for %j = 0 to 4 {
      %v = memref.load %y[%j] : memref<4xf32>
      memref.store %v, %y[%j] : memref<4xf32>
      loop.yield
    }
    loop.yield
  }
  func.return
}

// -----

// So does one in whose iterations threads share work: within a kernel they would not.
// CHECK-LABEL: func.func @main(%x: memref<4x8xf32>, %y: memref<8xf32> {inarch.result}) {
// CHECK-NEXT:    loop.for %i = 0 to 4 {
// CHECK-NEXT:      %row = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
// CHECK-NEXT:      loop.call @[[K0:map_8_[0-9a-f]+]](%row, %y) : memref<8xf32, strided<[1], offset: ?>>, memref<8xf32>
// CHECK-NEXT:      loop.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
// CHECK-NEXT:  func.func private @[[K0]](%row: memref<8xf32, strided<[1], offset: ?>>, %y: memref<8xf32>) attributes {inarch.kernel} {
// CHECK-NEXT:    loop.nest (j = 8 parallel) ins(%row[j] : memref<8xf32, strided<[1], offset: ?>>) outs(%y[j] : memref<8xf32>) {
// CHECK-NEXT:    ^bb0(%e: f32, %o: f32):
// CHECK-NEXT:      %s = arith.addf %e, %o : f32
// CHECK-NEXT:      loop.yield %s : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
func.func @main(%x: memref<4x8xf32>, %y: memref<8xf32> {inarch.result}) {
  loop.for %i = 0 to 4 {
    %row = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    loop.nest (j = 8 parallel) ins(%row[j] : memref<8xf32, strided<[1], offset: ?>>) outs(%y[j] : memref<8xf32>) {
    ^bb0(%e: f32, %o: f32):
      %s = arith.addf %e, %o : f32
      loop.yield %s : f32
    }
    loop.yield
  }
  func.return
}
