// RUN: inarch-opt %s -t c | filecheck %s

module attributes {inarch.name = "n", inarch.target = "x86-64-v3"} {

// Where the loops are; a loop of one iteration is at 0.
// CHECK-LABEL: void inarch_kernel_scalar({{.*}}){{$}}
// CHECK:          for (int64_t i = 0; i < 4; i++) {
// CHECK-NEXT:         y[i] = (int64_t)(i * 2 + 1);
func.func private @scalar(%y: memref<4x1xi64>) {
  loop.nest (i = 4, u = 1) outs(%y[i, u] : memref<4x1xi64>) {
  ^bb0(%o: i64):
    %k = loop.point i * 2 + u * 9 + 1 : index
    %p = arith.index_cast %k : index to i64
    loop.yield %p : i64
  }
  func.return
}

// Loops that run on are one where the place does, too.
// CHECK-LABEL: void inarch_kernel_joined({{.*}}){{$}}
// CHECK:          for (int64_t i_j = 0; i_j < 12; i_j++) {
// CHECK-NEXT:         y[i_j] = (int64_t)(i_j + 5);
func.func private @joined(%y: memref<4x3xi64>) {
  loop.nest (i = 4, j = 3) outs(%y[i, j] : memref<4x3xi64>) {
  ^bb0(%o: i64):
    %k = loop.point i * 3 + j + 5 : index
    %p = arith.index_cast %k : index to i64
    loop.yield %p : i64
  }
  func.return
}

// And not where it does not.
// CHECK-LABEL: void inarch_kernel_apart({{.*}}){{$}}
// CHECK:          for (int64_t i = 0; i < 4; i++) {
// CHECK-NEXT:         for (int64_t j = 0; j < 3; j++) {
// CHECK-NEXT:             y[i * 3 + j] = (int64_t)j;
func.func private @apart(%y: memref<4x3xi64>) {
  loop.nest (i = 4, j = 3) outs(%y[i, j] : memref<4x3xi64>) {
  ^bb0(%o: i64):
    %k = loop.point j : index
    %p = arith.index_cast %k : index to i64
    loop.yield %p : i64
  }
  func.return
}

// In a tile each register has places of its own, of which it may need one for all lanes; so has what finishes.
// CHECK-LABEL: void inarch_kernel_tile({{.*}}){{$}}
// CHECK:          for (int64_t k = 0; k < 5; k++) {
// CHECK:              const int64_t point = k;
// CHECK-NEXT:         const v4i64 point_1 = {0, 2, 4, 6};
// CHECK:          for (int64_t j = 0; j < 4; j++) {
// CHECK:              y[j] = {{.*}}(int64_t)(j + 7)
func.func private @tile(%x: memref<5x4xi64>, %y: memref<4xi64>) {
  loop.nest (k = 5 reduction, j = 4 vector) ins(%x[k, j] : memref<5x4xi64>) outs(%y[j] init 0 : memref<4xi64>) {
  ^bb0(%a: i64, %acc: i64):
    %0 = loop.point k : index
    %p = arith.index_cast %0 : index to i64
    %1 = loop.point j * 2 : index
    %q = arith.index_cast %1 : index to i64
    %2 = arith.muli %p, %q : i64
    %3 = arith.addi %a, %2 : i64
    %4 = arith.addi %acc, %3 : i64
    loop.yield %4 : i64
  } finish {
  ^bb0(%a: i64, %acc: i64):
    %0 = loop.point j + 7 : index
    %p = arith.index_cast %0 : index to i64
    %s = arith.addi %acc, %p : i64
    loop.yield %s : i64
  }
  func.return
}

// In an array of accumulators, and in a scan.
// CHECK-LABEL: void inarch_kernel_array({{.*}}){{$}}
// CHECK:          for (int64_t k = 0; k < 5; k++) {
// CHECK-NEXT:         for (int64_t j = 0; j < 3; j++) {
// CHECK-NEXT:             acc[j] = {{.*}}(int64_t)(k * 3 + j)
func.func private @array(%y: memref<3xi64>) {
  loop.nest (k = 5 reduction, j = 3) outs(%y[j] init 0 : memref<3xi64>) {
  ^bb0(%acc: i64):
    %0 = loop.point k * 3 + j : index
    %p = arith.index_cast %0 : index to i64
    %s = arith.addi %acc, %p : i64
    loop.yield %s : i64
  }
  func.return
}

// CHECK-LABEL: void inarch_kernel_scan({{.*}}){{$}}
// CHECK:          for (int64_t k = 0; k < 5; k++) {
// CHECK-NEXT:         acc = {{.*}}(int64_t)(k * 2));
// CHECK:              acc_1 = {{.*}}(int64_t)(k * 2 + 1)
func.func private @scan(%y: memref<2x5xi64>) {
  loop.nest (k = 5 scan, i = 2 unroll) outs(%y[i, k] init 0 : memref<2x5xi64>) {
  ^bb0(%acc: i64):
    %0 = loop.point k * 2 + i : index
    %p = arith.index_cast %0 : index to i64
    %s = arith.addi %acc, %p : i64
    loop.yield %s : i64
  }
  func.return
}
}
