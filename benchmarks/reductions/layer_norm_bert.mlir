// BERT-base's 128 words of 768 numbers.
func.func @main(%x: tensor<128x768xf32>, %scale: tensor<768xf32>, %bias: tensor<768xf32>) -> tensor<128x768xf32> {
  %0 = graph.layer_norm %x, %scale, %bias axis = 1 epsilon = 1.0e-5 : tensor<128x768xf32>, tensor<768xf32>, tensor<768xf32> -> tensor<128x768xf32>
  return %0 : tensor<128x768xf32>
}
