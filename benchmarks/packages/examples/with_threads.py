"""Runs an example whose sessions have so many threads: `with_threads.py EXAMPLE.py THREADS`."""

import runpy
import sys

import onnxruntime


class _Session(onnxruntime.InferenceSession):
    def __init__(self, model, sess_options=None, *others, **named):
        options = sess_options or onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(sys.argv[2])
        super().__init__(model, options, *others, **named)


onnxruntime.InferenceSession = _Session
runpy.run_path(sys.argv[1], run_name="__main__")
