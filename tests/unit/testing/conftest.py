"""A backend whose relu is wrong between 0 and 1, for tests of the searches that find it."""

from __future__ import annotations

from pathlib import Path

import pytest

_WRONG_RELU = """
from math import prod

from inarch.offload.backend import Backend, Emission

CODE = '''
int32_t {symbol}(void *self, DLTensor *args, int32_t n) {{
  const float *x = args[0].data;
  float *y = args[1].data;
  (void)self, (void)n;
  for (int64_t i = 0; i < {size}; i++) y[i] = x[i] < 1.f ? 0.f : x[i];
  return 0;
}}
'''


def accepts(op):
    return None if str(op.results[0].type.element_type) == "f32" else "takes f32"


def emit(request):
    sizes = [prod(each.function_type.inputs.data[0].get_shape()) for each in request.functions]
    code = [CODE.format(symbol=s, size=n) for s, n in zip(request.names(), sizes)]
    return Emission("c", request.names(), text='#include "inarch.h"' + "".join(code))


BACKEND = Backend("wrong-relu", "relu from 1 on", emit=emit, ops=["relu"], accepts=accepts)
"""


@pytest.fixture
def wrong_relu(tmp_path: Path) -> Path:
    """The file of the backend `wrong-relu`."""
    path = tmp_path / "wrong_relu.py"
    path.write_text(_WRONG_RELU)
    return path
