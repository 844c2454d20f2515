// RUN: python -m inarch.testing.generate --file %s --start 25 --backend examplejson --target native
// FOUND: refused: backend 'examplejson' [inarch.backends.examplejson] on @examplejson_0 (from '<merged>:2:5') and 3 more functions: loader 'examplejson' refuses what was emitted: examplejson:11:3: 'pow' of i64[1, 24, 12, 24], i64[1, 24, 12, 24]: the op is defined on floats
builtin.module {
  func.func @main(%x0: tensor<f32>) -> tensor<f32> {
    %0 = graph.add %x0, %x0 : tensor<f32>, tensor<f32> -> tensor<f32>
    func.return %0 : tensor<f32>
  }
  func.func @other1(%x0: tensor<i64>, %x1: tensor<i64>) -> tensor<i64> {
    %0 = graph.pow %x0, %x1 : tensor<i64>, tensor<i64> -> tensor<i64>
    func.return %0 : tensor<i64>
  }
}
