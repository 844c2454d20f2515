"""`gemm-f32` of a packed B that is stored as f16 and widened in registers: half of the bytes of weights."""

from inarch.backends.c.microkernels._register_tile import narrow_b
from inarch.backends.c.microkernels.gemm_f32 import MICROKERNEL as WIDE

MICROKERNEL = narrow_b(WIDE, "f16", needs=("f16c",))
