"""The lit suite: `lit tests/lit` in process, `lit -Dsubprocess=1 tests/lit` with real processes.

lit injects `config`.
"""

import os
import sys
from pathlib import Path

from inarch.testing.lit_format import InProcessFormat

_here = Path(__file__).resolve().parent

config.name = "inarch"
config.test_format = InProcessFormat()
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = str(_here)
config.test_exec_root = str(_here.parents[1] / "build" / "lit")

# The tools of the environment that runs lit, also when it is not activated.
config.environment["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
)
config.environment["INARCH_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
for _name in ("INARCH_NATIVE", "PYTHONHASHSEED"):
    if _name in os.environ:
        config.environment[_name] = os.environ[_name]

# What is installed beside Inarch is not under test: neither here, in process, nor in processes.
os.environ["INARCH_PLUGINS"] = config.environment["INARCH_PLUGINS"] = "none"
