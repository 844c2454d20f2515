"""What was decided for a nest, for its likes in this program and in the next compilation."""
