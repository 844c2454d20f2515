"""Elements in order: heaps and sorts of rows, as loops of scalars."""
