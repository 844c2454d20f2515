"""`python -m inarch`: the command `inarch`."""

import sys

from inarch.tools.start import inarch

if __name__ == "__main__":
    sys.exit(inarch())
