// RUN: inarch-opt %s -p outline-nests,plan-memory -t c | filecheck %s

// The index never passes a bound that is the largest number; a step that is computed is looked at.
// CHECK: int32_t model_main_run
func.func @main(%n: memref<2xi64>, %go: memref<i1> {inarch.result}, %y: memref<8xf32> {inarch.result}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %m = memref.load %n[%zero] : memref<2xi64>
  %most = arith.index_cast %m : i64 to index
  %k = memref.load %n[%one] : memref<2xi64>
  %by = arith.index_cast %k : i64 to index
  // CHECK: for (int64_t i = 0; i < most && go[0]; i++) {
  loop.while %i = %zero to %most step %one if %go : memref<i1> {
    %less = arith.cmpi slt, %i, %two : index
    // CHECK: go[0] = i < 2;
    memref.store %less, %go[] : memref<i1>
    // CHECK: inarch_kernel_map_8_
    loop.nest (j = 8) outs(%y[j] : memref<8xf32>) {
    ^bb0(%o: f32):
      %s = arith.addf %o, %o : f32
      loop.yield %s : f32
    }
    loop.yield
  }
  // CHECK: for (int64_t i = 1; i < most; i = (uint64_t)most - (uint64_t)i > (uint64_t)2 ? i + 2 : most) {
  loop.while %i = %one to %most step %two {
    // CHECK: for (int64_t j = i; ((int64_t)k) > 0 && j < most; j = (uint64_t)most - (uint64_t)j > (uint64_t)((int64_t)k) ? j + ((int64_t)k) : most) {
    loop.while %j = %i to %most step %by {
      loop.yield
    }
    loop.yield
  }
  func.return
}
