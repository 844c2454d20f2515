"""Records of what was tuned: a text file, one nest a line, that compilations read (`--records`).

    {"inarch records": 3, "count": 1}
    {"address": "...", "cpu": "...", "compiler": "...", "kernel": "gemm-f32", "identity": "...", ...}

`count` is of the lines that were written at once. `inarch tune` appends what it finds as it finds it; what a
killed process was just writing is left out. A run that ends writes the file anew.

A record is of a nest on a target (`address`), of the CPU, the C compiler and the number of threads that it
was measured with, and of the code of its kernel (`identity`). Files merge: of two records of one nest the
faster one stays. What was measured with demanded kernels stays beside what was chosen freely.
"""

from __future__ import annotations

import fcntl
import json
import os
import reprlib
import warnings
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from inarch.core.cache import replacing
from inarch.core.errors import EnvironmentFault, InarchError, InarchWarning, UsageError
from inarch.core.outside.regular import read_regular_text
from inarch.core.outside.value import Document, Limit, Value
from inarch.machine.compilers import find_compiler
from inarch.machine.find import cpu_name
from inarch.microkernel.demanded import demanded_of
from inarch.passes.tuned import Tuned, TunedWay

VERSION = 3
_HEAD, _COUNT = "inarch records", "count"

_MOST = 1e100
"""Seconds, cycles or times: none that a computation breaks on."""

Amount = Annotated[float, Limit("a number from 0 on", lambda value: 0 <= value <= _MOST)]
Divisor = Annotated[float, Limit("a number from 1e-30 on", lambda value: 1e-30 <= value <= _MOST)]
Count = Annotated[int, Limit("a whole number from 0 on", lambda value: 0 <= value <= _MOST)]


@dataclass(frozen=True)
class _Choice:
    """A way that a pass chose."""

    kernel: str
    choice: str


@dataclass(frozen=True)
class _Way:
    """A way of a kernel (`inarch.passes.tensorize.keep.record`)."""

    kernel: str
    params: Mapping[str, int]
    binding: int
    assignment: Sequence[Sequence[str]]
    order: Sequence[int]
    cost: Amount
    around: Amount


@dataclass(frozen=True)
class _Head:
    count: Count


@dataclass(frozen=True)
class Record:
    """What was measured of one nest."""

    address: str
    """Of the nest and the target (`inarch.passes.tuned.address_of`)."""
    cpu: str
    compiler: str
    kernel: str
    identity: str
    """Of the kernel's code."""
    way: Mapping[str, Any]
    """Which member, which iterators, which order of loops."""
    seconds: Divisor
    """Of the nest so, in its model."""
    untuned: Divisor
    """The same as it is chosen without records, measured by turns with it."""
    trials: Count
    """Ways that were measured."""
    target: str = ""
    model: str = ""
    where: str = ""
    """The op of the model, and below the nest, for people."""
    nest: str = ""
    machine: str = ""
    """Whose cycles the costs are: what the choice without records was made for."""
    ghz: Amount = 0.0
    """Of that machine."""
    calls: Amount = 0.0
    """Cycles that all nests of the op, done so, take by the costs: in their calls."""
    around: Amount = 0.0
    """And around them."""
    runs: Divisor = 1.0
    """How often the nest runs in `seconds`: models repeat it."""
    threads: Count = 1
    """By which it was measured."""
    demanded: str = ""
    """The kernels that were demanded then: it was compared with other ways of theirs alone."""
    is_sure: bool = True
    """Whether it was measured once more, with all that stayed; else the search was ended before."""

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """Records of one key replace each other."""
        return self.address, self.cpu, self.compiler, self.threads, self.demanded

    @property
    def each(self) -> float:
        """Seconds of one run: what records of one nest are compared by."""
        return self.seconds / self.runs

    @property
    def gain(self) -> float:
        """How many times faster than without it."""
        return self.untuned / self.seconds


def demand_text(kernels: Iterable[object]) -> str:
    """Kernels that are demanded, as records name them."""
    return ", ".join(sorted(map(str, kernels)))


def compiler_name() -> str:
    """The C compiler, as records name it."""
    return find_compiler().version


def read_records(path: Path) -> list[Record]:
    """The records of a file. Raises UsageError, with the line, for a file that is none, or is damaged."""
    try:
        text = read_regular_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"cannot read records: {reason}", where=str(path)) from error
    lines = text.removesuffix("\n").split("\n")
    head, where = _object(path, 1, lines[0]), f"{path}:1"
    version = head.get(_HEAD)
    if type(version) is not int:
        raise UsageError(
            f'expected {{"{_HEAD}": {VERSION}, "{_COUNT}": NUMBER}}, found another file',
            where=where,
        )
    if version != VERSION:
        later, earlier = "a later Inarch; use that one", "an earlier Inarch; tune into another file"
        age = later if version > VERSION else earlier
        raise UsageError(
            f"expected records of version {VERSION}, found {reprlib.repr(version)}: they are of {age}",
            where=where,
        )
    count = Value(head, "", Document(where, fault=UsageError)).read(_Head).count
    if not text.endswith("\n") and len(lines) - 1 > count and _is_cut(lines[-1]):
        said = "the last record was cut off while it was appended, and is left out"
        warnings.warn(InarchWarning(said, where=f"{path}:{len(lines)}"), stacklevel=2)
        del lines[-1]
    found = [_record(path, number, line) for number, line in enumerate(lines[1:], 2)]
    if count > len(found):
        raise UsageError(
            f"expected {reprlib.repr(count)} records, as this line says, found {len(found)}: the file is "
            "cut off; take a whole one, or write here how many there are",
            where=where,
        )
    return found


def _is_cut(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(
            "expected a record, found what is no JSON object: the file is cut off or damaged; delete the "
            "line, and count it off in the first one"
            if number > 1
            else "expected the head of a file of records, found what is none",
            where=f"{path}:{number}",
        )
    return cast("dict[str, Any]", found)


def _record(path: Path, number: int, line: str) -> Record:
    said, where = _object(path, number, line), f"{path}:{number}"
    top = Value(said, "", Document(where, fault=UsageError, is_closed=True))
    found = top.read(Record)
    way = top["way"].read(_Choice if "choice" in found.way else _Way)
    if way.kernel != found.kernel:
        raise top["way"]["kernel"].error(f"kernel '{found.kernel}'")
    return found


def merged(*lists: Iterable[Record]) -> list[Record]:
    """The records of all: of one nest, CPU, compiler, number of threads and demand the fastest sure one."""
    found: dict[object, Record] = {}
    for record in (each for one in lists for each in one):
        known = found.get(record.key)
        if known is None or (not record.is_sure, record.each) < (not known.is_sure, known.each):
            found[record.key] = record
    return list(found.values())


def ways_of(records: Iterable[Record], demanded: Sequence[object] = ()) -> dict[str, TunedWay]:
    """Of each nest the way of the fastest record, then those of the others: of a demanded kernel first.

    What a pass chose beside a demanded kernel holds for that demand before any other.
    """
    wish, names = demand_text(demanded), {demanded_of(str(one)).name for one in demanded}

    def rank(one: Record) -> tuple[bool, float]:
        is_choice = "choice" in one.way
        is_meant = one.demanded == wish if is_choice or not names else one.kernel in names
        return (is_choice or bool(names)) and not is_meant, one.each

    found: dict[str, TunedWay] = {}
    for one in sorted(records, key=rank, reverse=True):
        found[one.address] = TunedWay(one.way, one.identity, found.get(one.address))
    return found


def write_records(path: Path, records: Sequence[Record]) -> None:
    """Writes the file, whole or not at all."""
    with replacing(path) as file:
        head = json.dumps({_HEAD: VERSION, _COUNT: len(records)})
        file.write("".join([f"{head}\n", *map(_line, records)]).encode())


def add_records(
    path: Path, records: Sequence[Record], *, instead: Collection[Record] = ()
) -> list[Record]:
    """Adds records to a file, in which others may write meanwhile; gives what is in it then.

    `instead` of those that were appended on the way.
    """
    gone = {_line(one) for one in instead}
    with _alone(path):
        known = read_records(path) if path.exists() else []
        every = merged((one for one in known if _line(one) not in gone), records)
        write_records(path, every)
    return every


def append_records(path: Path, records: Sequence[Record]) -> None:
    """Adds records behind the others: they are on the disk when it returns. Raises EnvironmentFault."""
    with _alone(path):
        if not path.exists():
            write_records(path, [])
        elif not path.read_bytes().endswith(b"\n"):  # a process was killed as it wrote
            write_records(path, read_records(path))
        try:
            with path.open("ab", buffering=0) as file:
                file.write(
                    "".join(map(_line, records)).encode()
                )  # at once: of a cut one the last is cut
                os.fsync(file.fileno())
        except OSError as error:
            raise EnvironmentFault(f"cannot write '{path}': {error.strerror}") from error


def _line(record: Record) -> str:
    return f"{json.dumps(asdict(record))}\n"


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Nobody else adds to the file at `path`: it is replaced, so that another one is locked."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        descriptor = _locked(lock)
    except OSError as error:
        raise EnvironmentFault(f"cannot write '{path}': {error.strerror}") from error
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(lock: Path) -> int:
    """A descriptor of the file `lock` that holds its lock. Raises OSError."""
    while True:
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(lock.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)  # another process has removed it: there may be a new one


def tuned_of(
    paths: Sequence[str | Path], demanded: Sequence[object] = ()
) -> tuple[Tuned, list[InarchWarning]]:
    """What passes take of files of records, and in a line each what they cannot: of other machines.

    `demanded`: the kernels that are, whose records come first.

    Raises UsageError for a file that is damaged.
    """
    own = cpu_name(), compiler_or_none()
    every = merged(*(read_records(Path(path)) for path in paths))
    here = [one for one in every if (one.cpu, one.compiler) == own]
    source = ", ".join(map(str, paths))
    said: list[InarchWarning] = []
    for at, (name, mine) in enumerate((("cpu", own[0]), ("compiler", own[1]))):
        others = [one for one in every if getattr(one, name) != mine]
        if others and (at == 0 or len(others) < len(every)):
            text = (
                f"{len(others)} of {len(every)} records are of another {name} "
                f"('{getattr(others[0], name)}', here '{mine}') and not used"
            )
            said.append(InarchWarning(text, where=source))
    return Tuned(ways_of(here, demanded), source), said


def compiler_or_none() -> str:
    """The C compiler, as records name it; empty where there is none."""
    try:
        return compiler_name()
    except InarchError:  # the compilation will tell
        return ""
