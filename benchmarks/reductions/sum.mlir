// Along the last axis, where neighbouring numbers are terms of one result.
func.func @main(%x: tensor<256x1024xf32>) -> tensor<256x1xf32> {
  %0 = graph.reduce_sum %x axes = [1] keepdims = true : tensor<256x1024xf32> -> tensor<256x1xf32>
  return %0 : tensor<256x1xf32>
}
