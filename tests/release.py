"""A release: the changelog's section, wheels and sdist, each tried in a clean environment, and their hashes.

    make release VERSION=0.2.0        # of a clean tree; writes dist/, and the files to commit

What is *Unreleased* in CHANGELOG.md becomes the version's, with today's date, and `inarch.__version__` is
set: in a copy of the tree, from which all is built, twice. Times in the files are those of that date and
nothing is of this machine, so that both builds, and everyone's of the tag, are the same bytes. Both wheels
and the sdist are installed in environments of their own, where README's LeNet is compiled, run and compared.
Then `dist/` has the files with `SHA256SUMS`, and its signature where git has a `user.signingkey`;
docs/releases.md has the hashes; changelog and version are written. You commit, tag and upload.

Of a version that the changelog has, as on a tag, the same is built and tried; its hashes must be those of
docs/releases.md. Nothing is written where something fails.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from inarch.core.scratch import scratch

ROOT = Path(__file__).resolve().parents[1]
NAMESPACE = "inarch-release"
"""What a signature by ssh-keygen is for."""
SUMS = "SHA256SUMS"
_VERSION = re.compile(r"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}")
_SECTION = re.compile(
    r"^## \[(\S+)\](?: - (\d{4}-\d{2}-\d{2}))?\n(.*?)(?=^## \[|\Z)", re.MULTILINE | re.DOTALL
)
_OURS = re.compile(r'^__version__ = "(.*)"$', re.MULTILINE)


@dataclass(frozen=True)
class Plan:
    """What a release is of, and the texts that say so."""

    version: str
    date: str
    changelog: str
    package: str
    """`inarch/__init__.py`."""

    @property
    def epoch(self) -> int:
        """The seconds of its date: what files say of when they were made."""
        return int(datetime.fromisoformat(self.date).replace(tzinfo=UTC).timestamp())


def plan(version: str, changelog: str, package: str, today: str) -> Plan:
    """The release of `version`, new or as the changelog has it.

    Raises SystemExit where changelog and version do not go together.
    """
    if not _VERSION.fullmatch(version):
        sys.exit(f"error: VERSION: expected X.Y.Z, found '{version}'")
    sections = {name: (date, text.strip()) for name, date, text in _SECTION.findall(changelog)}
    first = next(iter(sections), None)
    if first != "Unreleased":
        sys.exit(f"error: CHANGELOG.md: expected first a section [Unreleased], found [{first}]")
    news = sections.pop("Unreleased")[1]
    latest = next(iter(sections), "0.0.0")
    if version == latest:
        if news:
            sys.exit(f"error: CHANGELOG.md: {version} is released, and something is Unreleased")
        if f'__version__ = "{version}"' not in package:
            sys.exit(f'error: inarch/__init__.py: expected __version__ = "{version}"')
        return Plan(version, sections[version][0], changelog, package)
    if _numbers(version) < _numbers(latest):
        sys.exit(f"error: VERSION: expected one above {latest}, found '{version}'")
    if not news:
        sys.exit("error: CHANGELOG.md: expected something that is Unreleased, found nothing")
    if not _OURS.search(package):
        sys.exit('error: inarch/__init__.py: expected a line __version__ = "..."')
    head = "## [Unreleased]\n"
    return Plan(
        version,
        today,
        changelog.replace(head, f"{head}\n## [{version}] - {today}\n", 1),
        _OURS.sub(f'__version__ = "{version}"', package),
    )


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


# ------------------------------------------------------------------------------------ building


def copy_tree(root: Path, place: Path, changed: Mapping[str, str]) -> None:
    """The files that git has, with the texts of `changed`; links stay links, modes are git's."""
    named = _said(["git", "-C", str(root), "ls-files", "-z"])
    for name in filter(None, named.split("\0")):
        source, path = root / name, place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            path.symlink_to(source.readlink())
            continue
        path.write_bytes(changed[name].encode() if name in changed else source.read_bytes())
        path.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)


def build(tree: Path, place: Path, epoch: int) -> list[Path]:
    """Both wheels and the sdist of a copy of the tree, by the setuptools that is here."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place)]
    given = {"SOURCE_DATE_EPOCH": str(epoch)}
    mask = os.umask(0o022)
    try:
        _run([*command, "--wheel", str(tree / "wheels" / "runtime")], place, given)
        _run([*command, "--wheel", "--sdist", str(tree)], place, given)
    finally:
        os.umask(mask)
    for path in place.glob("*.tar.gz"):
        path.write_bytes(timeless(path.read_bytes(), epoch))
    return sorted(place.iterdir())


def timeless(data: bytes, epoch: int) -> bytes:
    """A `.tar.gz` whose members are in order, of nobody, and of one time; setuptools takes them as found."""
    made = BytesIO()
    with (
        tarfile.open(fileobj=BytesIO(data)) as old,
        gzip.GzipFile("", "wb", 9, made, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda one: one.name):
            member.mtime, member.pax_headers = epoch, {}
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return made.getvalue()


def sums(files: Sequence[Path]) -> str:
    """A line for each file, as `sha256sum -c` reads them."""
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files)
    return "".join(f"{line}\n" for line in lines)


def check_contents(wheel: Path) -> None:
    """Raises SystemExit where a wheel would install more than `inarch` beside others' packages."""
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    if more := sorted(top for top in tops if top != "inarch" and not top.endswith(".dist-info")):
        sys.exit(f"error: {wheel.name}: expected nothing but 'inarch', found {', '.join(more)}")


# ------------------------------------------------------------------------------------ trying


def try_all(files: Sequence[Path], tree: Path, folder: Path, version: str) -> None:
    """Installs each file in an environment of its own, and runs README's LeNet there, away from the tree."""
    maker = tree / "benchmarks" / "models" / "lenet.py"
    runtime = next(path for path in files if path.name.startswith("inarch_runtime-"))
    for path in (one for one in files if one != runtime):
        inarch = _installed(path, "[onnx]", tree, folder)
        _run([str(inarch.parent / "python"), str(maker), "lenet.onnx"], folder)
        _run([str(inarch), "compile", "lenet.onnx", "-o", "lenet.inarch"], folder)
        _run([str(inarch), "run", "lenet.inarch", "--seed", "0", "--check", "lenet.onnx"], folder)
        _run([str(inarch), "inspect", "lenet.inarch", "--check"], folder)
        _run([str(inarch), "run", "lenet.inarch", "--seed", "0", "-o", "out.npz"], folder)
        _check_version(inarch, folder, version)
    inarch = _installed(runtime, "", tree, folder)
    _run([str(inarch), "run", "lenet.inarch", "--seed", "0", "--check", "out.npz"], folder)
    _check_version(inarch, folder, version)


def _installed(path: Path, extras: str, tree: Path, folder: Path) -> Path:
    """The command `inarch` of an environment in which the file, with what it asks for, is installed."""
    print(f"{path.name}: installed and tried in an environment of its own", flush=True)
    place = folder / f"venv of {path.name}".replace(" ", "-")
    _run([sys.executable, "-m", "venv", "--without-pip", str(place)], folder)
    pip = [sys.executable, "-m", "pip", "-q", "--python", str(place / "bin" / "python"), "install"]
    _run([*pip, "-c", str(tree / "constraints.txt"), f"{path}{extras}"], folder)
    return place / "bin" / "inarch"


def _check_version(inarch: Path, folder: Path, version: str) -> None:
    if (said := _run([str(inarch), "--version"], folder).split()[1]) != version:
        sys.exit(f"error: expected an installed version {version}, found '{said}'")


def _run(command: Sequence[str], folder: Path, given: Mapping[str, str] | None = None) -> str:
    """What it said; nothing of the tree is found by the environment.

    Raises SystemExit with its last lines where it fails.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=folder, env={**kept, **(given or {})}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        said = done.stdout.strip()[-3000:]
        sys.exit(f"{said}\nerror: {' '.join(command)}: left with {done.returncode}")
    return done.stdout


def _said(command: Sequence[str], code: int = 0) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode > code:
        sys.exit(f"error: {' '.join(command)}: left with {done.returncode}")
    return done.stdout


# ------------------------------------------------------------------------------------ writing


def recorded(page: str, version: str) -> str | None:
    """The hashes of a version in docs/releases.md; None where it has none."""
    found = re.search(
        rf"^## {re.escape(version)}, .*?^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL
    )
    return found and found[1]


def record(page: str, one: Plan, hashes: str) -> str:
    """The page with a version more, the newest first."""
    head, mark, rest = page.partition("\n## ")
    return f"{head.rstrip()}\n\n## {one.version}, {one.date}\n\n```text\n{hashes}```\n{mark}{rest}"


def sign(path: Path, root: Path) -> Path | None:
    """A signature beside the file by the key that git signs with; None where there is no key."""
    key = _said(["git", "-C", str(root), "config", "user.signingkey"], code=1).strip()
    if not key:
        return None
    kind = _said(["git", "-C", str(root), "config", "gpg.format"], code=1).strip()
    tool = "ssh-keygen" if kind == "ssh" else "gpg"
    if shutil.which(tool) is None:
        sys.exit(f"error: expected {tool}, as git has a user.signingkey, found none; install it")
    made = path.with_name(f"{path.name}.{'sig' if kind == 'ssh' else 'asc'}")
    made.unlink(missing_ok=True)
    if kind == "ssh":
        _run(["ssh-keygen", "-Y", "sign", "-f", key, "-n", NAMESPACE, str(path)], path.parent)
    else:
        gpg = ["gpg", "--batch", "--local-user", key, "--armor", "--detach-sign"]
        _run([*gpg, "--output", str(made), str(path)], path.parent)
    return made


def clean_commit(root: Path) -> str:
    """HEAD. Raises SystemExit where the tree differs from it."""
    if changed := _said(["git", "-C", str(root), "status", "--porcelain"]).splitlines():
        sys.exit(
            f"error: expected a clean tree, found {len(changed)} changes: {changed[0].strip()}"
        )
    return _said(["git", "-C", str(root), "rev-parse", "HEAD"]).strip()


def release(root: Path, version: str) -> list[str]:
    """Builds, tries and records a release; the lines to print."""
    begun = clean_commit(root)
    changelog, package = root / "CHANGELOG.md", root / "inarch" / "__init__.py"
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    one = plan(version, changelog.read_text(), package.read_text(), today)
    texts = {"CHANGELOG.md": one.changelog, "inarch/__init__.py": one.package}
    page = root / "docs" / "releases.md"
    with scratch("inarch-release-") as folder:
        built: list[list[Path]] = []
        for place in (folder / "first", folder / "second"):
            copy_tree(root, place / "inarch", texts)
            (place / "dist").mkdir()
            built.append(build(place / "inarch", place / "dist", one.epoch))
        files, again = built
        hashes = sums(files)
        if hashes != sums(again):
            sys.exit(f"error: two builds differ:\n{hashes}{sums(again)}")
        known = recorded(page.read_text(), version)
        if known not in (None, hashes):
            sys.exit(f"error: docs/releases.md: expected of {version}\n{known}found\n{hashes}")
        for path in files:
            if path.suffix == ".whl":
                check_contents(path)
        away = folder / "away"
        away.mkdir()
        try_all(files, folder / "first" / "inarch", away, version)
        said = folder / SUMS
        said.write_text(hashes)
        signature = sign(said, root)
        if (ended := clean_commit(root)) != begun:
            sys.exit(f"error: expected HEAD to stay {begun[:12]} meanwhile, found {ended[:12]}")
        dist = root / "dist"
        shutil.rmtree(dist, ignore_errors=True)
        dist.mkdir()
        for path in (*files, said, *([signature] if signature else [])):
            shutil.copy(path, dist)
    for path, text in ((changelog, one.changelog), (package, one.package)):
        path.write_text(text)
    if known is None:
        page.write_text(record(page.read_text(), one, hashes))
    told = (
        f"signed: dist/{signature.name}" if signature else "not signed: git has no user.signingkey"
    )
    steps = f"git commit -am 'Release {version}', git tag v{version}, and push the tag"
    return [hashes.rstrip(), told, *(["next: " + steps] if known is None else [])]


def _end(number: int, _frame: object) -> None:
    """Leaves as a shell expects it, and folders under way go."""
    sys.exit(128 + number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1, and nothing is written, where something is not as it must be."""
    about, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version", help="X.Y.Z")
    signal.signal(signal.SIGTERM, _end)
    print("\n".join(release(ROOT, parser.parse_args(arguments).version)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
