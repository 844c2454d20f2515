// The weights of BERT-base's attention: 12 heads of 128 words.
func.func @main(%x: tensor<12x128x128xf32>) -> tensor<12x128x128xf32> {
  %0 = graph.softmax %x axis = 2 : tensor<12x128x128xf32> -> tensor<12x128x128xf32>
  return %0 : tensor<12x128x128xf32>
}
