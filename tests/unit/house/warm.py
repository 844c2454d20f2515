"""The commands `inarch` and `inarch-opt` as forks of one process, which has imported what they need.

Most of the time of a short command is imports. `python warm.py FOLDER` imports once, puts clients called
like the commands into FOLDER, which is to be in PATH, and says that it is ready. A client gives the server
its words, folder, environment and files, and ends as the fork does.
What decides what is imported (PYTHON..., INARCH_PLUGINS) must be as it was for the server: else the command
is the real one. That each command starts by itself is for the tests of `tests/unit/tools`.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from importlib import import_module
from pathlib import Path

COMMANDS = ("inarch", "inarch-opt")
SOCKET = "socket"
MODULES = (
    "inarch.backends.c.build",
    "inarch.definitions.execute",
    "inarch.driver.compiler",
    "inarch.tools.cli",
    "inarch.tools.opt",
    "numpy",
    "onnx",
)

CLIENT = """#!{python} -IS
import json, os, socket, sys
def decides(name): return name.startswith("PYTHON") or name == "INARCH_PLUGINS"
if {{name: value for name, value in os.environ.items() if decides(name)}} != {known!r}:
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
server = socket.socket(socket.AF_UNIX)
server.connect({where!r})
asked = json.dumps([[{real!r}, *sys.argv[1:]], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(asked).to_bytes(8, "big")], [0, 1, 2])
server.sendall(asked)
sys.exit(int(server.recv(8) or b"139"))  # a process that has died says nothing
"""


def _write_clients(folder: Path) -> None:
    known = {name: value for name, value in os.environ.items() if _decides(name)}
    for name in COMMANDS:
        real = str(Path(sys.executable).parent / name)
        client = folder / name
        where = str(folder / SOCKET)
        client.write_text(CLIENT.format(python=sys.executable, where=where, known=known, real=real))
        client.chmod(0o755)


def _decides(variable: str) -> bool:
    return variable.startswith("PYTHON") or variable == "INARCH_PLUGINS"


def _serve(folder: Path) -> None:
    for name in MODULES:
        import_module(name)
    import_module("inarch.pipeline.default").default_pipeline()
    _write_clients(folder)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / SOCKET))
        listening.listen(64)
        print("ready", flush=True)
        forks: set[int] = set()
        while True:
            asking, _ = listening.accept()
            forks -= {each for each in forks if os.waitpid(each, os.WNOHANG) != (0, 0)}
            fork = os.fork()
            if fork == 0:
                listening.close()
                _answer(asking)
            forks.add(fork)
            asking.close()


def _answer(asking: socket.socket) -> None:
    """Runs one command, and ends the process."""
    head, files, _, _ = socket.recv_fds(asking, 8, 3)
    size, text = int.from_bytes(head, "big"), b""
    while len(text) < size:
        if not (more := asking.recv(size - len(text))):
            sys.exit()  # whoever asked has gone
        text += more
    words, folder, environment = json.loads(text)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words
    from inarch.tools import start

    try:
        code = (start.inarch_opt if words[0].endswith("-opt") else start.inarch)()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    asking.sendall(str(code).encode())
    sys.exit(code)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
