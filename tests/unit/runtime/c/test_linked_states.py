"""C of backends with a state: begun and ended with each instance of the program, and given to each call."""

from __future__ import annotations

import gc
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.backends import BACKENDS, Backend, Emission, EmitRequest, Option
from inarch.core.errors import InarchError
from inarch.driver.compiler import build as build_artifact
from inarch.driver.options import Options
from inarch.machine.compilers import find_compiler

HERE = Path(__file__).parent
STATE = """
#include "inarch.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct {{ float gain; }} {name}_own;
static _Thread_local char {name}_why[64];

static void {name}_note(const char *text)
{{
    const char *path = getenv("STATE_LOG");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL) {{
        fputs(text, file);
        fclose(file);
    }}
}}

int32_t {name}_init(void **state)
{{
    const char *broken = getenv("STATE_BROKEN");
    if (broken != NULL && *broken == "{name}"[0]) {{
        snprintf({name}_why, sizeof({name}_why), "no device {name}0");
        return 70;
    }}
    {name}_own *own = malloc(sizeof(*own));
    if (own == NULL) {{
        snprintf({name}_why, sizeof({name}_why), "no memory for {name}");
        return INARCH_NO_MEMORY;
    }}
    own->gain = {gain}f;
    *state = own;
    {name}_note("+{name}");
    return 0;
}}

void {name}_destroy(void *state)
{{
    free(state);
    {name}_note("-{name}");
}}

const char *{name}_last_error(void)
{{
    return {name}_why;
}}
"""
CODE = """
int32_t {symbol}(void *self, DLTensor *args, int32_t n)
{{
    const {name}_own *own = self;
    const float *x = args[0].data, *w = args[1].data;
    float *y = args[2].data;
    (void)n;
    if (x[0] > 1e30f) {{
        snprintf({name}_why, sizeof({name}_why), "%g is too hot", x[0]);
        return 71;
    }}
    for (int i = 0; i < {size}; i++) y[i] = own->gain * w[i] * x[i];
    return 0;
}}
"""


def emit(request: EmitRequest) -> Emission:
    """gain * w * x, with the gain in the state and w shipped."""
    name = request.instance
    parts = [STATE.format(name=name, gain=request.options["gain"])]
    weights: dict[str, Any] = {}
    uses: dict[str, list[str]] = {}
    for function in request.functions:
        kind: Any = function.function_type.inputs.data[0]
        (size,) = kind.get_shape()
        uses[function.sym_name.data] = [f"w{size}"]
        weights[f"w{size}"] = weight(size)
        parts.append(CODE.format(name=name, symbol=function.sym_name.data, size=size))
    return Emission(
        "c", request.names(), text="".join(parts), weights=weights, uses=uses, state=name
    )


def weight(size: int) -> Any:
    return np.random.default_rng(size).uniform(0.5, 1, size).astype(np.float32)


AMP = Backend(
    "amp", "an amplifier", emit, ops=("relu", "neg"), options={"gain": Option("float", 2.0)}
)
SIZES = (3, 17, 64)
OPS = ("relu", "neg", "sin")


def steps(seed: int) -> list[str]:
    """Each op another one than the one before, with which it would become one region."""
    draw = random.Random(seed)
    found = ["relu", "neg"]
    for _ in range(6):
        found.append(draw.choice([each for each in OPS if each != found[-1]]))
    return found


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return amplified(tmp_path)


def amplified(folder: Path) -> Path:
    """Two instances: `a` has the relus, `b` the negations."""
    text: list[str] = []
    for number, size in enumerate(SIZES):
        kind = f"tensor<{size}xf32>"
        text.append(f'func.func @f{number}(%v0: {kind} {{inarch.name = "x"}}) -> {kind} {{')
        for at, word in enumerate(steps(number)):
            text.append(f"  %v{at + 1} = graph.{word} %v{at} : {kind} -> {kind}")
        text.append(f"  func.return %v{len(steps(number))} : {kind}\n}}")
    (folder / "m.mlir").write_text("\n".join(text))
    with BACKENDS.scope():
        BACKENDS.register(AMP)
        options = Options(
            backends=("a=amp:gain=2", "b=amp:gain=0.5"),
            give=("relu=a", "neg=b"),
            require_offload=True,
        )
        build_artifact(folder / "m.mlir", folder / "m.inarch", options=options)
    return folder / "m.inarch"


def computed(number: int, x: Any) -> Any:
    size = SIZES[number]
    for word in steps(number):
        gain = {"relu": 2, "neg": 0.5}.get(word)
        x = np.sin(x) if gain is None else np.float32(gain) * weight(size) * x
    return x


def test_states_begin_and_end_with_their_program(
    runtime: Any, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T8: one a library that Python opened and one a module of libinarch, each given to its own functions."""
    log = tmp_path / "log"
    monkeypatch.setenv("STATE_LOG", str(log))
    module = inarch.load(program)
    assert log.read_text() == "+a+b"
    for number, size in enumerate(SIZES):
        x = np.linspace(-1, 1, size, dtype=np.float32)
        np.testing.assert_allclose(module[f"f{number}"](x), computed(number, x), rtol=1e-5)
    with pytest.raises(InarchError) as error:
        module["f0"](np.full(3, 1e31, np.float32))
    assert error.value.message.startswith("f0: import 'a_")
    assert error.value.message.endswith(
        "' failed: 1e+31 is too hot (backend 'a', from 'm.mlir:2:3')"
    )
    del module, error
    gc.collect()
    assert log.read_text() == "+a+b-b-a"
    opened = [runtime.opened(program, flags=4) for _ in range(2)]
    assert log.read_text() == "+a+b-b-a" + "+a+b" * 2
    x, y = np.linspace(-1, 1, 17, dtype=np.float32), np.empty(17, np.float32)
    instance = runtime.instance(opened[1], "f1")
    runtime.functions.inarch_bind_input(instance, b"x", x.ctypes.data, x.nbytes)
    runtime.functions.inarch_bind_output(instance, b"out0", y.ctypes.data, y.nbytes)
    assert runtime.functions.inarch_run(instance) == 0, runtime.message()
    np.testing.assert_allclose(y, computed(1, x), rtol=1e-5)
    runtime.functions.inarch_instance_free(instance)
    for one in opened:
        runtime.close(one)
    assert log.read_text() == "+a+b-b-a" + "+a+b" * 2 + "-b-a" * 2


def test_a_state_that_does_not_begin(
    runtime: Any, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program does not open, with the reason; those that had begun are ended."""
    log = tmp_path / "log"
    monkeypatch.setenv("STATE_LOG", str(log))
    monkeypatch.setenv("STATE_BROKEN", "b")
    with pytest.raises(InarchError) as error:
        inarch.load(program)
    said = "m: 'b' does not begin: no device b0"
    assert error.value.line() == f"{program}: error: expected to bind the library, found: {said}"
    assert runtime.open(program)[0] == 70
    assert runtime.message() == error.value.line()
    assert log.read_text() == "+a-a" * 2
    monkeypatch.delenv("STATE_BROKEN")
    x = np.ones(3, np.float32)
    np.testing.assert_allclose(inarch.load(program)["f0"](x), computed(0, x), rtol=1e-5)


@pytest.mark.slow
def test_states_under_sanitizers(program: Path, build: Callable[..., Path], tmp_path: Path) -> None:
    """Nothing of a state leaks, or is used when it is gone: eight threads open, run and close."""
    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover", "-O1", "-g1", "-rdynamic")
    harness = build(HERE / "states.c", [*find_compiler().command, "-std=c11"], *checks)
    done = subprocess.run(
        [str(harness), str(program)],
        capture_output=True,
        text=True,
        check=False,
        env={"ASAN_OPTIONS": "detect_leaks=1:color=never", "STATE_LOG": str(tmp_path / "log")},
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "0 failures\n")
    log = (tmp_path / "log").read_text()
    assert log.count("+a") == log.count("-a") == log.count("+b") == log.count("-b") > 80
