"""What `inarch explain` prints: graph, kernels, layouts, a page."""
