"""The same random calls of the interface of onnxruntime, done by Inarch and by onnxruntime itself."""
