"""magika: what some files are."""

from magika import Magika
from timed import timed

magika = Magika()
FILES = (
    b"def twice(x: int) -> int:\n    return 2 * x\n" * 20,
    b'#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' * 10,
    b"# A title\n\nSome *text* with a [link](https://example.org).\n" * 10,
    b'{"a": [1, 2, 3], "b": {"c": null}}\n',
)
timed(
    lambda: [magika.identify_bytes(data) for data in FILES],
    lambda found: [[each.output.label, float(each.score)] for each in found],
)
