// RUN: inarch-opt %s --split-input-file -p schedule-nests | filecheck %s

// Pooling runs along the row: its contiguous output iterator goes inside the window.
// CHECK-LABEL: @pooling_runs_along_the_row
func.func @pooling_runs_along_the_row(%x: memref<2x9x9xf32>, %y: memref<2x7x7xf32>) {
  loop.nest (c = 2, oh = 7, ow = 7, kh = 3 reduction, kw = 3 reduction) ins(%x[c, oh + kh, ow + kw] : memref<2x9x9xf32>) outs(%y[c, oh, ow] init -inf : memref<2x7x7xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.maximumf %a, %acc : f32
    loop.yield %m : f32
  }
  func.return
}
// CHECK: loop.nest (c = 2, oh = 7, kh = 3 reduction, kw = 3 reduction, ow = 7)

// -----

// A sum over the last axis has nothing contiguous to run along.
// CHECK-LABEL: @keeps_a_sum_over_the_last_axis
func.func @keeps_a_sum_over_the_last_axis(%x: memref<7x9xf32>, %y: memref<7xf32>) {
  loop.nest (i = 7, r = 9 reduction) ins(%x[i, r] : memref<7x9xf32>) outs(%y[i] init 0.0 : memref<7xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (i = 7, r = 9 reduction)

// -----

// With 70 and 17 inside already, seven rows would be 8330 accumulators: more than there is room for.
// CHECK-LABEL: @keeps_what_would_be_too_many
func.func @keeps_what_would_be_too_many(%x: memref<7x2x70x17xf32>, %y: memref<70x17x7xf32>) {
  loop.nest (i = 7, r = 2 reduction, j = 70, l = 17) ins(%x[i, r, j, l] : memref<7x2x70x17xf32>, %y[j, l, i] : memref<70x17x7xf32>) outs(%y[j, l, i] init 0.0 : memref<70x17x7xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (i = 7, r = 2 reduction, j = 70, l = 17)

// -----

// A scan along the rows: four of them side by side. A sum takes four cycles, and one a cycle is stored.
// CHECK-LABEL: @a_scan_along_rows
func.func @a_scan_along_rows(%x: memref<2x8x9xf32>, %y: memref<2x8x9xf32>) {
  loop.nest (b = 2, i = 8, k = 9 scan) ins(%x[b, i, k] : memref<2x8x9xf32>) outs(%y[b, i, k] init 0.0 : memref<2x8x9xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (b = 2, i = 2, k = 9 scan, i_4 = 4 unroll) ins(%x[b, i * 4 + i_4, k] : memref<2x8x9xf32>) outs(%y[b, i * 4 + i_4, k] init 0.0 : memref<2x8x9xf32>)

// -----

// Seven rows are four and three.
// CHECK-LABEL: @rows_that_are_left
func.func @rows_that_are_left(%x: memref<7x9xf32>, %y: memref<7x9xf32>) {
  loop.nest (i = 7, k = 9 scan) ins(%x[i, k] : memref<7x9xf32>) outs(%y[i, -k + 8] init 0.0 : memref<7x9xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (k = 9 scan, i = 4 unroll) ins(%x[i, k] : memref<7x9xf32>) outs(%y[i, -k + 8] init 0.0 : memref<7x9xf32>)
// CHECK:      loop.nest (k = 9 scan, i = 3 unroll) ins(%x[i + 4, k] : memref<7x9xf32>) outs(%y[i + 4, -k + 8] init 0.0 : memref<7x9xf32>)

// -----

// Three operands of rows that are 4096 bytes apart: of four rows twelve lines would share a set of eight.
// CHECK-LABEL: @rows_that_crowd
func.func @rows_that_crowd(%x: memref<8x1024xf32>, %w: memref<8x1024xf32>, %y: memref<8x1024xf32>) {
  loop.nest (i = 8, k = 1024 scan) ins(%x[i, k] : memref<8x1024xf32>, %w[i, k] : memref<8x1024xf32>) outs(%y[i, k] init 0.0 : memref<8x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %p, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 4, k = 1024 scan, i_2 = 2 unroll)

// -----

// A scan across the rows: as many columns as half the first-level cache has accumulators for, in shares
// of whole lines; equal ones are one nest.
// CHECK-LABEL: @a_scan_across_rows
func.func @a_scan_across_rows(%x: memref<3x9x9001xf32>, %y: memref<3x9x9001xf32>) {
  loop.nest (b = 3, j = 9001, k = 9 scan) ins(%x[b, k, j] : memref<3x9x9001xf32>) outs(%y[b, k, j] init 0.0 : memref<3x9x9001xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (b = 3, j = 2, k = 9 scan, j_3008 = 3008) ins(%x[b, k, j * 3008 + j_3008] : memref<3x9x9001xf32>)
// CHECK:      loop.nest (b = 3, k = 9 scan, j = 2985) ins(%x[b, k, j + 6016] : memref<3x9x9001xf32>)

// -----

// CHECK-LABEL: @equal_shares
func.func @equal_shares(%x: memref<9x9000xf32>, %y: memref<9x9000xf32>) {
  loop.nest (j = 9000, k = 9 scan) ins(%x[k, j] : memref<9x9000xf32>) outs(%y[k, j] init 0.0 : memref<9x9000xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (j = 3, k = 9 scan, j_3000 = 3000)
// CHECK-NOT:  loop.nest

// -----

// Columns of two dimensions run on; the image before them does not.
// CHECK-LABEL: @a_scan_of_images
func.func @a_scan_of_images(%x: memref<3x9x4x5xf32>, %y: memref<3x9x4x5xf32>) {
  loop.nest (b = 3, h = 4, w = 5, k = 9 scan) ins(%x[b, k, h, w] : memref<3x9x4x5xf32>) outs(%y[b, k, h, w] init 0.0 : memref<3x9x4x5xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (b = 3, k = 9 scan, h = 4, w = 5)

// -----

// Two columns are not enough not to wait: two rows of them.
// CHECK-LABEL: @a_scan_of_pairs
func.func @a_scan_of_pairs(%x: memref<6x9x2xf32>, %y: memref<6x9x2xf32>) {
  loop.nest (b = 6, j = 2, k = 9 scan) ins(%x[b, k, j] : memref<6x9x2xf32>) outs(%y[b, k, j] init 0.0 : memref<6x9x2xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (b = 3, k = 9 scan, b_2 = 2 unroll, j = 2 unroll)

// -----

// One chain, none, and what has a mode stay.
// CHECK-LABEL: @scans_that_stay
func.func @scans_that_stay(%x: memref<8x9xf32>, %z: memref<9xf32>, %n: memref<0x9xf32>, %y: memref<8x9xf32>, %o: memref<9xf32>, %p: memref<0x9xf32>) {
  loop.nest (k = 9 scan) ins(%z[k] : memref<9xf32>) outs(%o[k] init 0.0 : memref<9xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  loop.nest (i = 0, k = 9 scan) ins(%n[i, k] : memref<0x9xf32>) outs(%p[i, k] init 0.0 : memref<0x9xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8 unroll, k = 9 scan) ins(%x[i, k] : memref<8x9xf32>) outs(%y[i, k] init 0.0 : memref<8x9xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %a, %acc : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (k = 9 scan)
// CHECK:      loop.nest (i = 0, k = 9 scan)
// CHECK:      loop.nest (i = 8 unroll, k = 9 scan)

// -----

// The largest along what is contiguous: in lanes, which the mode says.
// CHECK-LABEL: @search_along_rows
func.func @search_along_rows(%x: memref<5x900xf32>, %v: memref<5xf32>, %n: memref<5xi64>) {
  loop.nest (k = 900 reduction, i = 5) ins(%x[i, k] : memref<5x900xf32>) outs(%v[i] init -inf : memref<5xf32>, %n[i] init 0 : memref<5xi64>) {
  ^bb0(%a: f32, %b: f32, %q: i64):
    %k = loop.point k : index
    %p = arith.index_cast %k : index to i64
    %0 = arith.cmpf ogt, %a, %b : f32
    %1 = arith.cmpf oeq, %a, %b : f32
    %2 = arith.cmpf une, %a, %a : f32
    %3 = arith.cmpf oeq, %b, %b : f32
    %4 = arith.andi %2, %3 : i1
    %5 = arith.ori %0, %4 : i1
    %6 = arith.cmpf une, %b, %b : f32
    %7 = arith.andi %2, %6 : i1
    %8 = arith.ori %1, %7 : i1
    %9 = arith.cmpi slt, %p, %q : i64
    %10 = arith.andi %8, %9 : i1
    %11 = arith.ori %5, %10 : i1
    %12 = arith.select %11, %a, %b : f32
    %13 = arith.select %11, %p, %q : i64
    loop.yield %12, %13 : f32, i64
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 5, k = 900 reduction vector)

// -----

// Across it: strips of columns, of integers.
// CHECK-LABEL: @search_across_rows
func.func @search_across_rows(%x: memref<7x9001xi32>, %v: memref<9001xi32>, %n: memref<9001xi64>) {
  loop.nest (i = 9001, k = 7 reduction) ins(%x[k, i] : memref<7x9001xi32>) outs(%v[i] init -2147483648 : memref<9001xi32>, %n[i] init 0 : memref<9001xi64>) {
  ^bb0(%a: i32, %b: i32, %q: i64):
    %k = loop.point k : index
    %p = arith.index_cast %k : index to i64
    %0 = arith.cmpi sgt, %a, %b : i32
    %1 = arith.cmpi eq, %a, %b : i32
    %9 = arith.cmpi slt, %p, %q : i64
    %10 = arith.andi %1, %9 : i1
    %11 = arith.ori %0, %10 : i1
    %12 = arith.select %11, %a, %b : i32
    %13 = arith.select %11, %p, %q : i64
    loop.yield %12, %13 : i32, i64
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 3, k = 7 reduction, i_
// CHECK:      loop.nest (k = 7 reduction, i =

// -----

// A rule that is not one of an order: of equal elements, any. It is reduced as it is written.
// CHECK-LABEL: @no_order
func.func @no_order(%x: memref<5x900xi32>, %v: memref<5xi32>, %n: memref<5xi64>) {
  loop.nest (i = 5, k = 900 reduction) ins(%x[i, k] : memref<5x900xi32>) outs(%v[i] init -2147483648 : memref<5xi32>, %n[i] init 0 : memref<5xi64>) {
  ^bb0(%a: i32, %b: i32, %q: i64):
    %k = loop.point k : index
    %p = arith.index_cast %k : index to i64
    %0 = arith.cmpi sgt, %a, %b : i32
    %12 = arith.select %0, %a, %b : i32
    %13 = arith.select %0, %p, %q : i64
    loop.yield %12, %13 : i32, i64
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 5, k = 900 reduction) ins

// -----

// An element that is made of what was found before has an order.
// CHECK-LABEL: @no_element
func.func @no_element(%x: memref<5x900xi32>, %v: memref<5xi32>, %n: memref<5xi64>) {
  loop.nest (i = 5, k = 900 reduction) ins(%x[i, k] : memref<5x900xi32>) outs(%v[i] init -2147483648 : memref<5xi32>, %n[i] init 0 : memref<5xi64>) {
  ^bb0(%e: i32, %b: i32, %q: i64):
    %a = arith.xori %e, %b : i32
    %k = loop.point k : index
    %p = arith.index_cast %k : index to i64
    %0 = arith.cmpi sgt, %a, %b : i32
    %1 = arith.cmpi eq, %a, %b : i32
    %9 = arith.cmpi slt, %p, %q : i64
    %10 = arith.andi %1, %9 : i1
    %11 = arith.ori %0, %10 : i1
    %12 = arith.select %11, %a, %b : i32
    %13 = arith.select %11, %p, %q : i64
    loop.yield %12, %13 : i32, i64
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 5, k = 900 reduction) ins

// -----

// Two sums of a row: nothing is contiguous along the output.
// CHECK-LABEL: @two_sums_of_a_row
func.func @two_sums_of_a_row(%x: memref<5x900xf32>, %v: memref<5xf32>, %n: memref<5xf32>) {
  loop.nest (i = 5, k = 900 reduction) ins(%x[i, k] : memref<5x900xf32>) outs(%v[i] init 0.0 : memref<5xf32>, %n[i] init 0.0 : memref<5xf32>) {
  ^bb0(%a: f32, %b: f32, %q: f32):
    %0 = arith.addf %b, %a : f32
    %1 = arith.mulf %a, %a : f32
    %2 = arith.addf %q, %1 : f32
    loop.yield %0, %2 : f32, f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 5, k = 900 reduction) ins

// -----

// What is computed runs along what it reads, in strips whose lines a cache holds: 2048 bytes apart, 16 of them.
// CHECK-LABEL: @a_function_of_what_lies_across
module attributes {inarch.target = "x86-64-v3"} {
func.func @a_function_of_what_lies_across(%x: memref<512x512xf32>, %y: memref<512x512xf32>) {
  loop.nest (j = 512, i = 512) ins(%x[i, j] : memref<512x512xf32>) outs(%y[j, i] : memref<512x512xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %e = math.exp %a : f32
    loop.yield %e : f32
  }
  func.return
}
}
// CHECK: loop.nest (j = 32, i = 512, j_16 = 16) ins(%x[i, j * 16 + j_16] : memref<512x512xf32>) outs(%y[j * 16 + j_16, i] : memref<512x512xf32>)

// -----

// A sum of two reads as little across either way, a copy has blocks of its own, and what is not aligned to
// powers of two C compilers read one by one into vectors.
// CHECK-LABEL: @no_better_along_another
module attributes {inarch.target = "x86-64-v3"} {
func.func @no_better_along_another(%x: memref<64x64xf32>, %w: memref<64x64xf32>, %z: memref<64x63xf32>, %y: memref<64x64xf32>, %c: memref<64x64xf32>, %o: memref<63x64xf32>) {
  loop.nest (j = 64, i = 64) ins(%x[i, j] : memref<64x64xf32>, %w[j, i] : memref<64x64xf32>) outs(%y[j, i] : memref<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %s = arith.addf %a, %b : f32
    loop.yield %s : f32
  }
  loop.nest (j = 64, i = 64) ins(%x[i, j] : memref<64x64xf32>) outs(%c[j, i] : memref<64x64xf32>) {
  ^bb0(%a: f32, %acc: f32):
    loop.yield %a : f32
  }
  loop.nest (j = 63, i = 64) ins(%z[i, j] : memref<64x63xf32>) outs(%o[j, i] : memref<63x64xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %e = math.exp %a : f32
    loop.yield %e : f32
  }
  func.return
}
}
// CHECK: loop.nest (j = 64, i = 64)
// CHECK: loop.nest (j = 64, i = 64)
// CHECK: loop.nest (j = 63, i = 64)

// -----

// Several outputs run in lanes: of a whole number of vectors, also of half ones; the contiguous iterator inside.
// CHECK-LABEL: @several_outputs
module attributes {inarch.target = "x86-64-v3"} {
func.func @several_outputs(%x: memref<3x48xf32>, %w: memref<48xf32>, %d: memref<3x4xf64>, %y: memref<6x48xf32>, %a: memref<3x48xf32>, %z: memref<3x12xf32>, %o: memref<3x4xf64>, %p: memref<3x4xf32>) {
  loop.nest (l = 48, i = 3) ins(%x[i, l] : memref<3x48xf32>, %w[l] : memref<48xf32>) outs(%y[i * 2, l] : memref<6x48xf32>, %y[i * 2 + 1, l] : memref<6x48xf32>) {
  ^bb0(%e: f32, %f: f32, %r: f32, %s: f32):
    %g = arith.addf %e, %f : f32
    %h = arith.subf %e, %f : f32
    loop.yield %g, %h : f32, f32
  }
  loop.nest (i = 3, l = 12) ins(%x[i, l + 5] : memref<3x48xf32>) outs(%z[i, l] : memref<3x12xf32>, %a[i, l] : memref<3x48xf32>) {
  ^bb0(%e: f32, %r: f32, %s: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (i = 3, l = 4) ins(%d[i, l] : memref<3x4xf64>) outs(%o[i, l] : memref<3x4xf64>, %p[i, l] init 0.0 : memref<3x4xf32>) {
  ^bb0(%e: f64, %r: f64, %s: f32):
    %t = arith.truncf %e : f64 to f32
    loop.yield %e, %t : f64, f32
  }
  func.return
}
}
// CHECK-NEXT: loop.nest (i = 3, l = 6, l_8 = 8 vector) ins(%x[i, l * 8 + l_8] : memref<3x48xf32>, %w[l * 8 + l_8] : memref<48xf32>) outs(%y[i * 2, l * 8 + l_8] : memref<6x48xf32>, %y[i * 2 + 1, l * 8 + l_8] : memref<6x48xf32>)
// CHECK:      loop.nest (i = 3, l = 3, l_4 = 4 vector)
// CHECK:      loop.nest (i = 3, l = 4 vector) ins(%d[i, l] : memref<3x4xf64>)

// -----

// No whole vectors, a read across them, a pad, a mode, a comparison: a plain loop.
// CHECK-LABEL: @several_outputs_that_stay
module attributes {inarch.target = "x86-64-v3"} {
func.func @several_outputs_that_stay(%x: memref<3x16xf32>, %u: memref<16x3xf32>, %y: memref<3x16xf32>, %z: memref<3x16xf32>) {
  loop.nest (i = 3, l = 15) ins(%x[i, l] : memref<3x16xf32>) outs(%y[i, l] : memref<3x16xf32>, %z[i, l] : memref<3x16xf32>) {
  ^bb0(%e: f32, %r: f32, %s: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (i = 3, l = 16) ins(%u[l, i] : memref<16x3xf32>) outs(%y[i, l] : memref<3x16xf32>, %z[i, l] : memref<3x16xf32>) {
  ^bb0(%e: f32, %r: f32, %s: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (i = 3, l = 16) ins(%x[i, l - 1] pad 0.0 : memref<3x16xf32>) outs(%y[i, l] : memref<3x16xf32>, %z[i, l] : memref<3x16xf32>) {
  ^bb0(%e: f32, %r: f32, %s: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (l = 16, i = 3 unroll) ins(%x[i, l] : memref<3x16xf32>) outs(%y[i, l] : memref<3x16xf32>, %z[i, l] : memref<3x16xf32>) {
  ^bb0(%e: f32, %r: f32, %s: f32):
    loop.yield %e, %e : f32, f32
  }
  loop.nest (i = 3, l = 16) ins(%x[i, l] : memref<3x16xf32>) outs(%y[i, l] : memref<3x16xf32>, %z[i, l] : memref<3x16xf32>) {
  ^bb0(%e: f32, %r: f32, %s: f32):
    %t = arith.cmpf olt, %e, %e : f32
    %c = arith.select %t, %e, %e : f32
    loop.yield %e, %c : f32, f32
  }
  func.return
}
}
// CHECK: loop.nest (i = 3, l = 15)
// CHECK: loop.nest (i = 3, l = 16)
// CHECK: loop.nest (i = 3, l = 16)
// CHECK: loop.nest (l = 16, i = 3 unroll)
// CHECK: loop.nest (i = 3, l = 16)
