"""Winograd's convolutions F(m x m, 3 x 3): m x m outputs by (m + 2)^2 products, not 9 m^2.

    y = A^T [ (G w G^T) * (B^T x B) ] A        A, G, B by points (Cook-Toom), exact in f32 but for G

Of an image in blocks of channels, three nests: each tile of x becomes (m + 2)^2 numbers a channel; the
numbers of one place are matrices [tiles, channels], that are multiplied with those of the weights, of which
the compiler makes them; each tile's products become m x m outputs. Tiles that reach over an edge of the
memory are maps of their own, in which what is outside is 0, or not written.

S. Winograd, Arithmetic Complexity of Computations (1980); A. Lavin, S. Gray, Fast Algorithms for
Convolutional Neural Networks, arXiv:1509.09308.
"""
