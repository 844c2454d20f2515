// T20: the two-level split of C[i] = A[i] + B[i] by 64, with its guard, and a parallel outer loop.
// RUN: inarch-opt %s | inarch-opt | filecheck %s
// RUN: inarch-opt %s -t c | filecheck %s --check-prefix=C

func.func @main(%a: memref<100xf32>, %b: memref<100xf32>, %c: memref<100xf32> {inarch.result}) {
  %n = arith.constant 100 : index
  %width = arith.constant 64 : index
  loop.for %io = 0 to 2 parallel {
    loop.for %ii = 0 to 64 {
      %start = arith.muli %io, %width : index
      %i = arith.addi %start, %ii : index
      %inside = arith.cmpi slt, %i, %n : index
      scf.if %inside {
        %x = memref.load %a[%i] : memref<100xf32>
        %y = memref.load %b[%i] : memref<100xf32>
        %z = arith.addf %x, %y : f32
        memref.store %z, %c[%i] : memref<100xf32>
      }
      loop.yield
    }
    loop.yield
  }
  func.return
}
// CHECK: loop.for %io = 0 to 2 parallel {
// CHECK:   loop.for %ii = 0 to 64 {
// CHECK:     scf.if %inside {
// C:      for (int64_t io = 0; io < 2; io{{.*}}) {
// C:        for (int64_t ii = 0; ii < 64; ii{{.*}}) {
// C:          if ({{.*}} < 100
