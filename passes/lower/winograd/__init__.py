"""Winograd's convolutions F(m x m, 3 x 3): m x m outputs by (m + 2)^2 products, not 9 m^2.

    y = A^T [ (G w G^T) * (B^T x B) ] A        A, G, B by points (Cook-Toom), exact in f32 but for G

The image has blocks of channels. Three nests compute it. The input transform makes (m + 2)^2 numbers of each
tile of x and each channel. For each of the (m + 2)^2 positions a matrix [tiles, channels] is multiplied by
the transformed weights, which the compiler computes, or a fourth nest in each call. The output transform
makes m x m outputs of each tile's products. Tiles that reach over an edge of the memory are separate maps:
elements outside are 0 in x, and are not written in y.

S. Winograd, Arithmetic Complexity of Computations (1980); A. Lavin, S. Gray, Fast Algorithms for
Convolutional Neural Networks, arXiv:1509.09308.
"""
