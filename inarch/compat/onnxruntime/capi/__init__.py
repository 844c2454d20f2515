"""The modules of onnxruntime in which packages look for exceptions and classes, under their names."""
