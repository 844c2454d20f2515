"""Loop orders, tiles and lanes of nests that no microkernel has taken."""
