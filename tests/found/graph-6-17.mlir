// RUN: python -m inarch.testing.generate --file %s --start 17 --target x86-64-v3
// FOUND: differs: @main, output 0, index (0, 0, 2, 2): expected 0.0, found nan, allowed 0 (186 of 3136 elements differ)
// CONSTANT constant eNpNTwkOACAI4mf6NH+WTysTyjZmjUMCYuHCHUAenBnJtzcXnJ6NMGpKz1Oa8kiDwbtylOX0rJ8FZbFHqE+2Tjuu3j7/9o7e0/v+YLzP3bkBUHEvcg==
// CONSTANT constant_1 eNpdTwEOACEI4mfyNH+WT7spWNu1NZEADcgCMqBTKtObZ1dCuuO7OIxL+taS9oRw8vGTE/LSvuZBcTN7s+l+30q64c7bD+vn4/5/ovfbrLs7P/wnMu0=
// CONSTANT constant_2 eNoBAAH//nIBgj7baY0/T5kwP4HIpD8YHPE+m7bMP6PohT8jjc4/ues1P6XVXT+EApg/cGWRP/Jjxj7nAZo/w7g6P/GgtD822y0/7DitP+9pmj+vK+0/za9zPyTmFT/6Dk0/d6x4P6nJZz+lV/Q/G9NsP5l8CD9esRc/bZ8bP6+r0T8sIjs/2NiRPymp/D/wDI8/dF4hP/A+yj8KlIA/NG55P/KrNT8s6h4/6EuGP49ihT/mRHg/7hGuP1hngj9KF28/3I/MPjw4vj8q3JA/SbKDP7btNz8TnQU/UW54P3+h7T87NOo/is7uPr/2uz+0M+s+9SiCPmiYnz/bduo/DoaEPz+2mj7BqnTK
builtin.module {
  func.func @main(%x0: tensor<f32> {inarch.name = "in.0"}, %x1: tensor<1x3x34x34xf32> {inarch.name = "in.1"}, %x2: tensor<64x3x3x3xf32> {inarch.name = "in.2"}, %x3: tensor<64xf32> {inarch.name = "in.3"}, %x4: tensor<64xf32> {inarch.name = "in.4"}, %x5: tensor<64xf32> {inarch.name = "in.5"}, %x6: tensor<64xf32> {inarch.name = "in.6"}, %x7: tensor<1x64x7x7xf32> {inarch.name = "in.7"}, %x8: tensor<64x64x3x3xf32> {inarch.name = "in.8"}) -> tensor<1x64x7x7xf32> {
    %7 = graph.conv %x7, %x8 strides = [1, 1] pads = [1, 1, 1, 1] dilations = [1, 1] groups = 1 : tensor<1x64x7x7xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x7x7xf32>
    %8 = graph.constant dense_resource<constant> : tensor<64xf32>
    %9 = graph.constant dense<1.000000e+00> : tensor<64xf32>
    %10 = graph.constant dense_resource<constant_1> : tensor<64xf32>
    %11 = graph.constant dense_resource<constant_2> : tensor<64xf32>
    %12 = graph.batch_norm %7, %8, %9, %10, %11 epsilon = 1.000000e-03 : tensor<1x64x7x7xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32> -> tensor<1x64x7x7xf32>
    %13 = graph.relu %12 : tensor<1x64x7x7xf32> -> tensor<1x64x7x7xf32>
    func.return %13 : tensor<1x64x7x7xf32>
  }
}
