"""What a compilation does with the bytes of weights: as little as it can, and it notices when they change."""

# A bare pathlike in the stubs of onnx:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import inarch
from inarch.backends.c import weights_image
from inarch.core.errors import EnvironmentFault
from inarch.dialects import new_context
from inarch.dialects.kernel import pack
from inarch.driver.compiler import build, import_model, lower
from inarch.frontends import read_model
from inarch.ir.context import store_of
from inarch.passes.loop import fold_packs

WEIGHTS = np.random.default_rng(3).standard_normal((64, 64)).astype(np.float32)


def save(path: Path, weights: np.ndarray, **options: object) -> Path:
    """A product with `weights`."""
    x, y = (helper.make_tensor_value_info(name, 1, [16, 64]) for name in "xy")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "g", [x], [y], [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(path), **options)  # pyright: ignore[reportArgumentType]
    return path


@pytest.mark.parametrize("is_external", [False, True])
def test_they_are_a_part_of_the_file(tmp_path: Path, is_external: bool) -> None:
    path = save(tmp_path / "m.onnx", WEIGHTS, save_as_external_data=is_external, size_threshold=0)
    context = new_context()
    read_model(path, context)
    array = np.frombuffer(store_of(context).get("w"), np.float32)
    np.testing.assert_array_equal(array, WEIGHTS.ravel())
    base: object = array
    while not isinstance(base, mmap.mmap):
        base = base.base if isinstance(base, np.ndarray) else base.obj  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]


def test_they_are_packed_when_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed: list[tuple[int, ...]] = []

    def counted(index: object, shape: tuple[int, ...], src: np.ndarray) -> np.ndarray:
        packed.append(shape)
        return pack.packed(index, shape, src)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(fold_packs, "packed", counted)
    context = new_context()
    module = import_model(save(tmp_path / "m.onnx", WEIGHTS), context, target="x86-64-v3")
    lower(context, module, "kernel")
    assert packed == []
    image = weights_image(context, module)
    assert len(packed) == 1
    assert packed[0] != WEIGHTS.shape
    assert sorted(np.frombuffer(image, np.float32)) == sorted(WEIGHTS.ravel())


def test_a_file_that_is_changed_meanwhile_gives_no_artifact(tmp_path: Path) -> None:
    path, output = save(tmp_path / "m.onnx", WEIGHTS), tmp_path / "m.inarch"

    def change() -> None:
        with path.open("ab") as file:
            file.write(b"\0")

    with pytest.raises(EnvironmentFault) as caught:
        build(path, output, progress=_once(change))
    assert caught.value.line() == (
        f"{path}: error: expected a file that stays as it is while it is compiled, found it changed; "
        "compile it again"
    )
    assert not output.exists()


def test_a_file_that_is_replaced_meanwhile_is_compiled_as_it_was(tmp_path: Path) -> None:
    path, other = save(tmp_path / "m.onnx", WEIGHTS), save(tmp_path / "other.onnx", -WEIGHTS)
    module = inarch.compile(path, progress=_once(lambda: os.replace(other, path)))  # noqa: PTH105
    x = np.eye(16, 64, dtype=np.float32)
    np.testing.assert_array_equal(module(x), WEIGHTS[:16])


def _once(act: Callable[[], None]) -> Callable[[str, int, int], None]:
    """A `progress` that acts at the first step, when the model has been read."""
    done: list[str] = []

    def progress(what: str, _done: int, _total: int) -> None:
        if not done:
            act()
        done.append(what)

    return progress
