"""Slurm on this computer, for tests: a controller, a node and munge, of Debian's packages, unpacked and not
installed, on the loopback interface alone.

    with slurm(folder) as environment: subprocess.run(["sinfo"], env=environment)
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

PACKAGES = (
    "slurmctld",
    "slurmd",
    "slurm-client",
    "slurm-wlm-basic-plugins",
    "munge",
    "libmunge2",
    "libhwloc15",
)
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_MINUTES = 5
"""That a job may take at most: one that asks for more is never run."""
_CONFIGURATION = """ClusterName=inarch
SlurmctldHost={node}(127.0.0.1)
SlurmUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
PluginDir={plugins}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
MpiDefault=none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
ReturnToService=2
NodeName={node} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime={minutes} State=UP OverSubscribe=NO
"""


class NoSlurmError(Exception):
    """It cannot be had on this computer, and why."""


@contextmanager
def slurm(folder: Path) -> Generator[Mapping[str, str]]:
    """A cluster of one node within the block; gives the environment that its commands need.

    Raises NoSlurmError where the packages cannot be had, or do not start.
    """
    root = _unpacked(folder)
    plugins = root / _LIBRARIES / "slurm-wlm"
    environment = {
        **os.environ,
        "PATH": f"{root}/usr/bin:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": f"{root / _LIBRARIES}:{plugins}",
        "SLURM_CONF": str(folder / "slurm.conf"),
    }
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o700)
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    node = socket.gethostname()
    text = _CONFIGURATION.format(
        node=node,
        user=os.environ.get("USER", "root"),
        folder=folder,
        plugins=plugins,
        ports=_ports(),
        cpus=os.cpu_count(),
        minutes=_MINUTES,
    )
    (folder / "slurm.conf").write_text(text)
    own = folder / "munge"
    files = [f"--{name}-file={own}/{name}" for name in ("pid", "log", "seed")]
    commands = [
        ["munged", "--force", f"--socket={own}/socket", f"--key-file={key}", *files],
        ["slurmctld-wlm"],
        ["slurmd-wlm", "-N", node, "-d", f"{root}/usr/sbin/slurmstepd-wlm"],
    ]
    try:
        for name, *arguments in commands:
            _run([f"{root}/usr/sbin/{name}", *arguments], environment)
        _wait(environment)
        yield environment
    finally:
        for path in (folder / "slurmd.pid", folder / "slurmctld.pid", own / "pid"):
            with suppress(OSError, ValueError):
                os.kill(int(path.read_text()), signal.SIGTERM)


def _unpacked(folder: Path) -> Path:
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise NoSlurmError("there is no apt-get")
    packages, root = folder / "packages", folder / "root"
    packages.mkdir()
    _run(["apt-get", "download", "-qq", *PACKAGES], os.environ, packages)
    for path in packages.iterdir():
        _run(["dpkg", "-x", str(path), str(root)], os.environ)
    return root


def _run(command: list[str], environment: Mapping[str, str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoSlurmError(f"{command[0]}: {error}") from error
    if done.returncode:
        raise NoSlurmError(f"{command[0]}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def _wait(environment: Mapping[str, str]) -> None:
    for _ in range(100):
        with suppress(NoSlurmError):
            if "idle" in _run(["sinfo", "-h", "-o", "%T"], environment):
                return
        time.sleep(0.1)
    raise NoSlurmError("the node does not become idle")


def _ports() -> tuple[int, int]:
    """Two that nobody uses."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
