"""Several nests in one loop over blocks: which may be, what it is worth, and how they are written."""
