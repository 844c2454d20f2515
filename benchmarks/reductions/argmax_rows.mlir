// Along the last axis: a value and a place in each lane.
func.func @main(%x: tensor<64x262144xf32>) -> tensor<64xi64> {
  %0 = graph.argmax %x axis = 1 : tensor<64x262144xf32> -> tensor<64xi64>
  return %0 : tensor<64xi64>
}
