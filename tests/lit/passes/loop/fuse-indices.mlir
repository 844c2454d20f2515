// RUN: inarch-opt %s --split-input-file -p fuse-nests | filecheck %s
// RUN: inarch-opt %s --split-input-file -p fuse-nests --verify-semantics -o %t

// Rows of a table are read where they are added; the index has another number there.
// CHECK-LABEL: @rows_go_into_the_sum_that_follows
func.func @rows_go_into_the_sum_that_follows(%ids: memref<8xi64>, %t: memref<100x64xf32>, %u: memref<8x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8, j = 64) ins(%a[i, j] : memref<8x64xf32>, %u[i, j] : memref<8x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 8, j = 64) ins(%u[i, j] : memref<8x64xf32>, %ids[i] : memref<8xi64>, %t[at(1), j] : memref<100x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
// CHECK-NEXT: ^bb0(%[[U:.*]]: f32, %{{.*}}: i64, %[[E:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:   arith.addf %[[E]], %[[U]] : f32
// CHECK-NOT: loop.nest

// -----

// Both tables are read by one index, which is read once.
// CHECK-LABEL: @two_tables_by_one_index
func.func @two_tables_by_one_index(%ids: memref<8xi64>, %t: memref<100x64xf32>, %v: memref<9x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8x64xf32>
  %b = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %v[at(0), j] : memref<9x64xf32>) outs(%b[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8, j = 64) ins(%a[i, j] : memref<8x64xf32>, %b[i, j] : memref<8x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %v[at(0), j] : memref<9x64xf32>, %t[at(0), j] : memref<100x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
// CHECK-NOT: loop.nest

// -----

// Reads of one table by two indices are two.
// CHECK-LABEL: @one_table_by_two_indices
func.func @one_table_by_two_indices(%ids: memref<8xi64>, %more: memref<8xi64>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8x64xf32>
  %b = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8, j = 64) ins(%more[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%b[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8, j = 64) ins(%a[i, j] : memref<8x64xf32>, %b[i, j] : memref<8x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (i = 8, j = 64) ins(%more[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>, %ids[i] : memref<8xi64>, %t[at(2), j] : memref<100x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %[[B:.*]]: f32, %{{.*}}: i64, %[[A:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:   arith.addf %[[A]], %[[B]] : f32

// -----

// The index follows the iterators of the nest that takes it in.
// CHECK-LABEL: @transposed
func.func @transposed(%ids: memref<8xi64>, %t: memref<100x64xf32>, %u: memref<64x8xf32>, %y: memref<64x8xf32> {inarch.result}) {
  %a = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (j = 64, i = 8) ins(%a[i, j] : memref<8x64xf32>, %u[j, i] : memref<64x8xf32>) outs(%y[j, i] : memref<64x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (j = 64, i = 8) ins(%u[j, i] : memref<64x8xf32>, %ids[i] : memref<8xi64>, %t[at(1), j] : memref<100x64xf32>) outs(%y[j, i] : memref<64x8xf32>) {

// -----

// A nest that reads indices takes in what it adds; its own index has another number then.
// CHECK-LABEL: @a_consumer_that_reads_indices_too
func.func @a_consumer_that_reads_indices_too(%ids: memref<8xi64>, %t: memref<100x64xf32>, %u: memref<8x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64) ins(%u[i, j] : memref<8x64xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8, j = 64) ins(%a[i, j] : memref<8x64xf32>, %t[at(2), j] : memref<100x64xf32>, %ids[i] : memref<8xi64>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%p: f32, %q: f32, %k: i64, %o: f32):
    %s = arith.addf %p, %q : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>, %u[i, j] : memref<8x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %[[Q:.*]]: f32, %[[U:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT:   %[[N:.*]] = arith.negf %[[U]] : f32
// CHECK-NEXT:   arith.addf %[[N]], %[[Q]] : f32

// -----

// Indices that are only extended, or copied, are read where they come from.
// CHECK-LABEL: @wider_indices
func.func @wider_indices(%ids: memref<4x2xi32>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<4x2xi64>
  loop.nest (m = 4, n = 2) ins(%ids[m, n] : memref<4x2xi32>) outs(%a[m, n] : memref<4x2xi64>) {
  ^bb0(%p: i32, %o: i64):
    %w = arith.extsi %p : i32 to i64
    loop.yield %w : i64
  }
  loop.nest (m = 4, j = 64) ins(%a[m, 1] : memref<4x2xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%y[m, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK-NEXT: loop.nest (m = 4, j = 64) ins(%ids[m, 1] : memref<4x2xi32>, %t[at(0), j] : memref<100x64xf32>) outs(%y[m, j] : memref<8x64xf32>) {

// -----

// An index is an element: one that is computed is kept.
// CHECK-LABEL: @computed_indices
func.func @computed_indices(%ids: memref<8xi64>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8xi64>
  loop.nest (m = 8) ins(%ids[m] : memref<8xi64>) outs(%a[m] : memref<8xi64>) {
  ^bb0(%p: i64, %o: i64):
    %w = arith.addi %p, %p : i64
    loop.yield %w : i64
  }
  loop.nest (i = 8, j = 64) ins(%a[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK: arith.addi
// CHECK: loop.nest {{.*}} ins(%a[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>)

// -----

// One that is extended without its sign is another number.
// CHECK-LABEL: @unsigned_indices
func.func @unsigned_indices(%ids: memref<8xi32>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8xi64>
  loop.nest (m = 8) ins(%ids[m] : memref<8xi32>) outs(%a[m] : memref<8xi64>) {
  ^bb0(%p: i32, %o: i64):
    %w = arith.extui %p : i32 to i64
    loop.yield %w : i64
  }
  loop.nest (i = 8, j = 64) ins(%a[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK: arith.extui
// CHECK: loop.nest {{.*}} ins(%a[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>)

// -----

// A copy with zeros before it has other elements.
// CHECK-LABEL: @padded_indices
func.func @padded_indices(%ids: memref<8xi64>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8xi64>
  loop.nest (m = 8) ins(%ids[m - 1] pad 0 : memref<8xi64>) outs(%a[m] : memref<8xi64>) {
  ^bb0(%p: i64, %o: i64):
    %z = arith.constant 0 : i64
    loop.yield %p : i64
  }
  loop.nest (i = 8, j = 64) ins(%a[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK: pad 0
// CHECK: loop.nest {{.*}} ins(%a[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>)

// -----

// Indices of indices are two nests.
// CHECK-LABEL: @indices_that_are_read_by_indices
func.func @indices_that_are_read_by_indices(%ids: memref<8xi64>, %v: memref<9xi64>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8xi64>
  loop.nest (m = 8) ins(%ids[m] : memref<8xi64>, %v[at(0)] : memref<9xi64>) outs(%a[m] : memref<8xi64>) {
  ^bb0(%k: i64, %p: i64, %o: i64):
    loop.yield %p : i64
  }
  loop.nest (i = 8, j = 64) ins(%a[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK: loop.nest (m = 8) ins(%ids[m] : memref<8xi64>, %v[at(0)] : memref<9xi64>)
// CHECK: loop.nest {{.*}} ins(%a[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>)

// -----

// A table is computed before rows of it are read, of which one may be read often.
// CHECK-LABEL: @what_is_computed_of_a_table
func.func @what_is_computed_of_a_table(%ids: memref<8xi64>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<100x64xf32>
  loop.nest (i = 100, j = 64) ins(%t[i, j] : memref<100x64xf32>) outs(%a[i, j] : memref<100x64xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %a[at(0), j] : memref<100x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  func.return
}
// CHECK: loop.nest (i = 100, j = 64)
// CHECK: loop.nest {{.*}} ins(%ids[i] : memref<8xi64>, %a[at(0), j] : memref<100x64xf32>)

// -----

// Of neighbours that are anywhere no vector is made: the sum that follows has some when it is alone.
// CHECK-LABEL: @columns_stay
func.func @columns_stay(%ids: memref<64xi64>, %t: memref<8x100xf32>, %u: memref<8x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64) ins(%ids[j] : memref<64xi64>, %t[i, at(0)] : memref<8x100xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8, j = 64) ins(%a[i, j] : memref<8x64xf32>, %u[i, j] : memref<8x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest {{.*}} ins(%ids[j] : memref<64xi64>, %t[i, at(0)] : memref<8x100xf32>) outs(%a
// CHECK: loop.nest {{.*}} ins(%a[i, j] : memref<8x64xf32>, %u[i, j] : memref<8x64xf32>) outs(%y

// -----

// Kernels sum up what lies in order.
// CHECK-LABEL: @a_sum_of_rows_stays
func.func @a_sum_of_rows_stays(%ids: memref<8xi64>, %t: memref<100x64xf32>, %y: memref<8xf32> {inarch.result}) {
  %a = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8, r = 64 reduction) ins(%a[i, r] : memref<8x64xf32>) outs(%y[i] init 0.0 : memref<8xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest {{.*}} ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a
// CHECK: loop.nest {{.*}} reduction) ins(%a[i, r] : memref<8x64xf32>) outs(%y

// -----

// What is added to a product goes to its end, which a kernel does, and reads no index there.
// CHECK-LABEL: @the_end_of_a_product_first
func.func @the_end_of_a_product_first(%x: memref<8x16xf32>, %w: memref<16x64xf32>, %ids: memref<8xi64>, %t: memref<100x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8x64xf32>
  %b = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64, r = 16 reduction) ins(%x[i, r] : memref<8x16xf32>, %w[r, j] : memref<16x64xf32>) outs(%b[i, j] init 0.0 : memref<8x64xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8, j = 64) ins(%a[i, j] : memref<8x64xf32>, %b[i, j] : memref<8x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest {{.*}} ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a
// CHECK: loop.nest (i = 8, j = 64, r = 16 reduction) ins(%x[i, r] : memref<8x16xf32>, %w[r, j] : memref<16x64xf32>, %a[i, j] : memref<8x64xf32>) outs(%y
// CHECK: finish

// -----

// A nest that reads indices is not the end of a sum.
// CHECK-LABEL: @no_index_at_the_end_of_a_sum
func.func @no_index_at_the_end_of_a_sum(%x: memref<8x16xf32>, %ids: memref<8xi64>, %t: memref<100xf32>, %y: memref<8xf32> {inarch.result}) {
  %a = loop.alloc : memref<8xf32>
  loop.nest (i = 8, r = 16 reduction) ins(%x[i, r] : memref<8x16xf32>) outs(%a[i] init 0.0 : memref<8xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %s = arith.addf %acc, %p : f32
    loop.yield %s : f32
  }
  loop.nest (i = 8) ins(%a[i] : memref<8xf32>, %ids[i] : memref<8xi64>, %t[at(1)] : memref<100xf32>) outs(%y[i] : memref<8xf32>) {
  ^bb0(%p: f32, %k: i64, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest (i = 8, r = 16 reduction) ins(%x[i, r] : memref<8x16xf32>) outs(%a
// CHECK: loop.nest (i = 8) ins(%a[i] : memref<8xf32>, %ids[i] : memref<8xi64>, %t[at(1)] : memref<100xf32>) outs(%y

// -----

// What is reduced is an index of another nest.
// CHECK-LABEL: @the_largest_picks
func.func @the_largest_picks(%x: memref<8x16xi64>, %t: memref<100xi64>, %y: memref<8xi64> {inarch.result}) {
  %a = loop.alloc : memref<8xi64>
  loop.nest (i = 8, r = 16 reduction) ins(%x[i, r] : memref<8x16xi64>) outs(%a[i] init 0 : memref<8xi64>) {
  ^bb0(%p: i64, %acc: i64):
    %s = arith.maxsi %acc, %p : i64
    loop.yield %s : i64
  }
  loop.nest (i = 8) ins(%a[i] : memref<8xi64>, %t[at(0)] : memref<100xi64>) outs(%y[i] : memref<8xi64>) {
  ^bb0(%p: i64, %q: i64, %o: i64):
    loop.yield %q : i64
  }
  func.return
}
// CHECK: reduction) ins(%x[i, r] : memref<8x16xi64>) outs(%a
// CHECK: loop.nest (i = 8) ins(%a[i] : memref<8xi64>, %t[at(0)] : memref<100xi64>) outs(%y

// -----

// A table that is written before the sum is read before it.
// CHECK-LABEL: @the_table_is_written_between
func.func @the_table_is_written_between(%ids: memref<8xi64>, %t: memref<100x64xf32> {inarch.result}, %u: memref<8x64xf32>, %y: memref<8x64xf32> {inarch.result}) {
  %a = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 100, j = 64) outs(%t[i, j] : memref<100x64xf32>) {
  ^bb0(%o: f32):
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.nest (i = 8, j = 64) ins(%a[i, j] : memref<8x64xf32>, %u[i, j] : memref<8x64xf32>) outs(%y[i, j] : memref<8x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest {{.*}} ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a
// CHECK: loop.nest {{.*}} ins(%a[i, j] : memref<8x64xf32>, %u[i, j] : memref<8x64xf32>) outs(%y

// -----

// Rows of the table that the sum is written to are read before, all of them.
// CHECK-LABEL: @the_table_is_the_result
func.func @the_table_is_the_result(%ids: memref<8xi64>, %t: memref<100x64xf32> {inarch.result}, %u: memref<8x64xf32>) {
  %a = loop.alloc : memref<8x64xf32>
  loop.nest (i = 8, j = 64) ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a[i, j] : memref<8x64xf32>) {
  ^bb0(%k: i64, %e: f32, %o: f32):
    loop.yield %e : f32
  }
  loop.nest (i = 8, j = 64) ins(%a[i, j] : memref<8x64xf32>, %u[i, j] : memref<8x64xf32>) outs(%t[i, j] : memref<100x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    loop.yield %s : f32
  }
  func.return
}
// CHECK: loop.nest {{.*}} ins(%ids[i] : memref<8xi64>, %t[at(0), j] : memref<100x64xf32>) outs(%a
// CHECK: loop.nest {{.*}} ins(%a[i, j] : memref<8x64xf32>, %u[i, j] : memref<8x64xf32>) outs(%t
