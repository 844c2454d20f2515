"""Random small ONNX models, and whether Inarch computes what the ONNX reference evaluator does."""
