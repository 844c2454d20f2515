// RUN: inarch-opt %s -t c | filecheck %s

// What comes next of the operand that is prefetched, and by how many calls it is brought: those of the loops
// inside the innermost one that moves it.
module attributes {inarch.name = "net"} {

kernel.def @dots computes "for m in 2, k in K: C[m] += A[m, k] * B[k]" arguments [
    #kernel.operand<A : f32 read rank 2 align 4>,
    #kernel.operand<B : f32 read rank 1 align 4>,
    #kernel.operand<C : f32 update rank 1 align 4>] needs [] source "void dots(void); void dots_ahead(void);" ahead "B"

// CHECK-LABEL: /* @again */
// CHECK:         for (int64_t n = 0; n < 3; n++) {
// CHECK-NEXT:       for (int64_t i = 0; i < 4; i++) {
// CHECK-NEXT:         for (int64_t j = 0; j < 5; j++) {
// CHECK-NEXT:           dots_ahead(a + i * 160 + j * 32, b + n * 16, c + n * 40 + i * 10 + j * 2, 16, 1, 1, 1, 16, b + (n + 1 < 3 ? n + 1 : 0) * 16 + i * 5 + j, 20);
func.func private @again(%a: memref<40x16xf32>, %b: memref<3x16xf32>, %c: memref<3x40xf32>) {
  kernel.call @dots for (n in 3, i in 4, j in 5) (%a[i * 160 + j * 32] strides [16, 1], %b[n * 16] strides [1], %c[n * 40 + i * 10 + j * 2] strides [1]) sizes [16] : memref<40x16xf32>, memref<3x16xf32>, memref<3x40xf32>
  func.return
}

// Read once, or in pieces that lie apart: nothing is to be brought, or it is not known what.
// CHECK-LABEL: /* @once */
// CHECK:         dots(a + i * 32, b + n * 16,
// CHECK:         dots(a + i * 16, b + n,
func.func private @once(%a: memref<40x16xf32>, %b: memref<3x16xf32>, %c: memref<3x40xf32>) {
  kernel.call @dots for (i in 20, n in 3) (%a[i * 32] strides [16, 1], %b[n * 16] strides [1], %c[n * 40 + i * 2] strides [1]) sizes [16] : memref<40x16xf32>, memref<3x16xf32>, memref<3x40xf32>
  kernel.call @dots for (n in 16 reduction, i in 20) (%a[i * 16] strides [16, 1], %b[n] strides [16], %c[i * 2] strides [1]) sizes [3] : memref<40x16xf32>, memref<3x16xf32>, memref<3x40xf32>
  func.return
}

}
