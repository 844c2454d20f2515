"""PyTorch: operators of compiled functions, and Inarch as a backend of its compiler."""

# PyTorch is untyped where it is not installed:
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUntypedBaseClass=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inarch
from inarch.bridges.torch import explain, to_torch_func
from inarch.bridges.torch import operator as operators
from inarch.core.errors import EnvironmentFault, InarchWarning, UsageError
from inarch.frontends.torch import graph as graphs
from tests.unit.bridges.rules import rule

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed: make bridges")
nn: Any = torch.nn

MODEL = """
func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}, %s: tensor<f32> {inarch.name = "out s"})
    -> (tensor<2x3xf32> {inarch.name = "y"}) {
  %w = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %0 = graph.add %x, %w : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.mul %0, %s : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
func.func @two(%x: tensor<2x3xf32> {inarch.name = "x"})
    -> (tensor<2x3xf32> {inarch.name = "a"}, tensor<2x3xf32> {inarch.name = "b"}) {
  %0 = graph.add %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.neg %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
"""
W = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.fixture(scope="module", name="module")
def fixture_module(tmp_path_factory: pytest.TempPathFactory) -> inarch.Module:
    path = tmp_path_factory.mktemp("torch") / "model.mlir"
    path.write_text(MODEL)
    return inarch.compile(path)


def no_compiler() -> None:
    raise EnvironmentFault("no compiler")


@pytest.fixture(scope="module", name="functions", params=["C", "Python"])
def fixture_functions(module: inarch.Module, request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """`main` and `two`, with kernels in C, and in Python as where there is no compiler."""
    suffix = request.param
    with pytest.MonkeyPatch.context() as patch:
        if suffix == "Python":
            patch.setattr(operators, "find_compiler", no_compiler)
        return (
            to_torch_func(module, f"scaled_{suffix}"),
            to_torch_func(module["two"], f"two_{suffix}"),
        )


def tensors() -> tuple[Any, Any]:
    return torch.randn(2, 3), torch.tensor(2.0)


def test_an_operator_gives_what_the_function_does(functions: tuple[Any, Any]) -> None:
    """B2: allocated, and in place; several outputs are a tuple."""
    main, two = functions
    x, s = tensors()
    torch.testing.assert_close(main(x, s), (x + W) * s)
    first, second = two(x)
    torch.testing.assert_close(first, x + x)
    torch.testing.assert_close(second, -x)
    outs = torch.empty(2, 3), torch.empty(2, 3)
    assert two(x, out=outs) is outs
    torch.testing.assert_close(outs[1], -x)
    name = main.op.__name__.partition(".")[0]
    assert str(main.op._schema) == f"inarch::{name}(Tensor x, Tensor in1) -> Tensor"
    assert str(main.out_op._schema) == (
        f"inarch::{name}.out(Tensor x, Tensor in1, *, Tensor(a!) out) -> ()"
    )


def test_nothing_is_copied(functions: tuple[Any, Any]) -> None:
    """B3: it reads and writes the very memory of tensors, those that NumPy made too."""
    main, _ = functions
    array, out = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    x, y = torch.from_numpy(array), torch.from_numpy(out)
    assert (x.data_ptr(), y.data_ptr()) == (array.ctypes.data, out.ctypes.data)
    assert main(x, torch.tensor(3.0), out=y) is y
    np.testing.assert_array_equal(out, (1 + W.numpy()) * 3)
    # Memory that the function reads at a place of its own within a larger one.
    large = torch.randn(5, 3)
    torch.testing.assert_close(main(large[2:4], torch.tensor(1.0)), large[2:4] + W)


WRONG: list[tuple[Callable[[Any, Any], tuple[Any, ...]], str]] = [
    (
        lambda x, s: (x.double(), s),
        "main: argument 0 (x): expected f32[2, 3], found f64[2, 3]",
    ),
    (
        lambda x, s: (x.half(), s),
        "main: argument 0 (x): expected f32[2, 3], found f16[2, 3]",
    ),
    (
        lambda x, s: (x[:1], s),
        "main: argument 0 (x): expected f32[2, 3], found f32[1, 3]",
    ),
    (
        lambda x, s: (x.reshape(3, 2).t(), s),
        "main: argument 0 (x): expected a row-major array, found other strides",
    ),
    (
        lambda x, s: (x, s.reshape(1)),
        "main: argument 1 (out s): expected f32[], found f32[1]",
    ),
]


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(("change", "message"), WRONG, ids=[one[1] for one in WRONG])
def test_a_wrong_argument(
    functions: tuple[Any, Any],
    change: Callable[[Any, Any], tuple[Any, ...]],
    message: str,
) -> None:
    """One line, as an error of PyTorch; and the same operator works after it."""
    main, _ = functions
    with pytest.raises(RuntimeError) as raised:
        main(*change(*tensors()))
    assert str(raised.value).splitlines()[0] == message
    x, s = tensors()
    torch.testing.assert_close(main(x, s), (x + W) * s)


def test_outputs_that_are_wrong(functions: tuple[Any, Any]) -> None:
    main, two = functions
    x, s = tensors()
    with pytest.raises(RuntimeError, match=r"memory of its own"):
        main(x, s, out=x)
    with pytest.raises(RuntimeError, match="expected 2 tensors in out=, found 1"):
        two(x, out=[x])
    with pytest.raises(RuntimeError, match=r"expected f32\[2, 3\], found i64\[2, 3\]"):
        main(x, s, out=torch.zeros(2, 3, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="missing value for argument 'in1'"):
        main(x)


def test_no_gradient_is_lost(functions: tuple[Any, Any]) -> None:
    """What requires one is refused while it is recorded, in compilers too; else it is fine."""
    main, _ = functions
    x, s = tensors()
    wanting = nn.Parameter(x)
    message = (
        "expected no tensor that requires a gradient, found 'x', whose gradient would be lost; "
        "use torch.no_grad(), a detached tensor, or to_torch_func(..., backward=)"
    )
    for call in (main, main.op):
        with pytest.raises(RuntimeError, match=re.escape(message)):
            call(wanting, s)
    with pytest.raises(RuntimeError, match="expected no tensor that requires a gradient"):
        main(x, s, out=torch.empty(2, 3, requires_grad=True))
    with pytest.raises(Exception, match="whose gradient would be lost"):
        torch.compile(lambda a: main(a, s).sum(), backend="aot_eager")(wanting)
    with torch.no_grad():
        torch.testing.assert_close(main(wanting, s), (x + W) * s)
    torch.testing.assert_close(main(wanting.detach(), s), (x + W) * s)


def test_gradients_by_a_rule(module: inarch.Module) -> None:
    """Of `backward=`, eager and compiled; a rule that gives too few says so."""

    def backward(inputs: Any, outputs: Any, grads: Any) -> tuple[Any, ...]:
        _, s = inputs
        return grads[0] * s, (grads[0] * outputs[0] / s).sum()

    rule = to_torch_func(module, "ruled", backward=backward)
    x, s = tensors()
    ours, theirs = [[t.clone().requires_grad_() for t in (x, s)] for _ in range(2)]
    ((theirs[0] + W) * theirs[1]).pow(2).sum().backward()
    rule(*ours).pow(2).sum().backward()
    compiled = [t.clone().requires_grad_() for t in (x, s)]
    torch.compile(lambda a, b: rule(a, b).pow(2).sum(), backend="aot_eager", fullgraph=True)(
        *compiled
    ).backward()
    for a, b, c in zip(ours, theirs, compiled, strict=True):
        torch.testing.assert_close(a.grad, b.grad)
        torch.testing.assert_close(c.grad, b.grad)
    short = to_torch_func(module, "short", backward=lambda *_: (None,))
    with pytest.raises(RuntimeError, match="expected backward to give 2 gradients, one for each"):
        short(x.clone().requires_grad_(), s).sum().backward()


def test_compilers_see_one_operator(functions: tuple[Any, Any]) -> None:
    """`torch.compile` and `torch.export`; PyTorch's own check of operators passes."""
    main, two = functions
    x, s = tensors()
    torch.library.opcheck(main.op, (x, s))
    torch.library.opcheck(main.out_op, (x, s), {"out": torch.empty(2, 3)})
    torch.library.opcheck(two.op, (x,))

    def model(a: Any, b: Any) -> Any:
        y = torch.empty(2, 3)
        main(torch.relu(a), b, out=y)
        return two(y)[1] + main(a, b)

    want = -((torch.relu(x) + W) * s) + (x + W) * s
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, s), want)

    class Model(nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return torch.relu(main(a, b))

    program = torch.export.export(Model(), (x, s))
    assert str(main.op) in {str(node.target) for node in program.graph.nodes}
    torch.testing.assert_close(program.module()(x, s), torch.relu((x + W) * s))
    with pytest.raises(Exception, match=r"expected f32\[2, 3\], found f32\[3, 2\]"):
        torch.export.export(Model(), (x.reshape(3, 2), s))


def test_threads_and_many_calls(functions: tuple[Any, Any]) -> None:
    """Eight threads at once, each with its own numbers; errors in between harm nobody."""
    main, _ = functions
    failures: list[str] = []

    def work(seed: int) -> None:
        torch.set_num_threads(1)
        x, s, y = torch.full((2, 3), float(seed)), torch.tensor(2.0), torch.empty(2, 3)
        for iteration in range(300):
            main(x, s, out=y)
            if not torch.equal(y, (x + W) * 2):
                failures.append(f"{seed}: {y}")
            if iteration % 50 == 0:
                with pytest.raises(RuntimeError, match=r"expected f32\[\]"):
                    main(x, x)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_names_of_operators(module: inarch.Module) -> None:
    with pytest.raises(UsageError) as raised:
        to_torch_func(module, "not a name")
    assert str(raised.value) == "expected a name that is an identifier, found 'not a name'"
    to_torch_func(module, "taken")
    with pytest.raises(UsageError) as raised:
        to_torch_func(module, "taken")
    assert str(raised.value) == (
        "operator 'torch.ops.inarch.taken' is there already; choose another name="
    )


SIZED = """
func.func @NAME(%x: tensor<Nx3xf32> {inarch.name = "x"}) -> (tensor<Nx3xf32> {inarch.name = "y"}) {
  %0 = graph.add %x, %x : tensor<Nx3xf32>, tensor<Nx3xf32> -> tensor<Nx3xf32>
  func.return %0 : tensor<Nx3xf32>
}
"""


def test_an_artifact_of_several_sizes(tmp_path: Path) -> None:
    """The operator of the shapes of a call, also in compilers; what fits none of them lists the sizes."""
    functions = "".join(
        SIZED.replace("NAME", name).replace("N", str(rows))
        for name, rows in (("main", 1), ("main__2", 2))
    )
    sizes = "inarch.sizes = {main = {n = 1}, main__2 = {n = 2}}"
    (tmp_path / "m.mlir").write_text(f"module attributes {{{sizes}}} {{{functions}}}")
    inarch.compile(tmp_path / "m.mlir").save(tmp_path / "m.inarch")
    f = to_torch_func(inarch.load(tmp_path / "m.inarch"), "sizes")
    for rows in (1, 2):
        x, y = torch.randn(rows, 3), torch.empty(rows, 3)
        torch.testing.assert_close(f(x), x + x)
        assert f(x, out=y) is y
        torch.testing.assert_close(y, x + x)
        compiled = torch.compile(
            lambda a: f(a) * 2, backend="aot_eager", fullgraph=True, dynamic=False
        )
        torch.testing.assert_close(compiled(x), 4 * x)
    assert [op.name() for op in f.ops] == ["inarch::sizes", "inarch::sizes__2"]
    with pytest.raises(
        RuntimeError, match=r"expected f32 of shape \[1, 3\] or \[2, 3\], found \[4, 3\]"
    ):
        f(torch.randn(4, 3))
    with pytest.raises(RuntimeError, match=r"expected f32\[1, 3\], found f64\[1, 3\]"):
        f(torch.randn(1, 3).double())


def test_a_missing_symbol_of_pytorch(
    module: inarch.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B5: with the library's path and version."""
    from inarch.bridges.torch import kernels

    monkeypatch.setattr(kernels, "NAMES", (*kernels.NAMES, "aoti_torch_of_the_future"))
    with pytest.raises(EnvironmentFault) as raised:
        kernels.Kernels()
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    assert str(raised.value) == (
        f"bridge to torch: expected the symbol 'aoti_torch_of_the_future' in {library} "
        f"(torch {torch.__version__}), found none; this version has another interface"
    )
    assert module is not None


# ------------------------------------------------------------------------------------ torch.compile


class Block(nn.Module):
    """A block of a transformer, with a causal mask."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(self.norm(x)).split(width, dim=2)
        q, k, v = (t.view(batch, length, 2, 8).transpose(1, 2) for t in parts)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


def cnn() -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3, groups=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 3),
        nn.LogSoftmax(-1),
    ).eval()


def mlp() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 2))


@pytest.mark.parametrize(
    ("make", "shape"), [(cnn, (2, 1, 12, 12)), (Block, (2, 5, 16))], ids=["cnn", "block"]
)
def test_a_model_is_compiled_whole(make: Callable[[], Any], shape: tuple[int, ...]) -> None:
    """A convolutional network and a block of a transformer: all of it in one part, without a warning."""
    torch.manual_seed(0)
    model, x = make().eval(), torch.randn(shape)
    with torch.no_grad():
        compiled = torch.compile(model, backend="inarch", dynamic=False)
        torch.testing.assert_close(compiled(x), model(x), atol=1e-5, rtol=1e-5)
        (captured,) = explain(model, x)
    assert captured.left == []
    assert len(captured.parts) == 1
    assert str(captured).startswith("inference: ")


def test_a_model_is_trained() -> None:
    """Forward and backward are both compiled; gradients are those of PyTorch."""
    torch.manual_seed(0)
    model, x = mlp(), torch.randn(3, 4)
    torch.compile(model, backend="inarch", dynamic=False)(x).pow(2).mean().backward()
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model(x).pow(2).mean().backward()
    for gradient, parameter in zip(found, model.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, atol=1e-6, rtol=1e-5)
    kinds = [(one.kind, one.left) for one in explain(model, x)]
    assert kinds == [("forward", []), ("backward", [])]


def test_explain_asks_for_gradients_where_there_are_any() -> None:
    """Of inputs, too; of several outputs; not of a model that is evaluated, unless an input wants one."""
    x, y = torch.randn(3, 4), torch.randn(4, requires_grad=True)
    kinds = [(one.kind, one.left) for one in explain(lambda a, b: (a.exp(), (a * b).sum(1)), x, y)]
    assert kinds == [("forward", []), ("backward", [])]
    assert y.grad is None
    model = mlp()
    assert [one.kind for one in explain(model.eval(), x)] == ["inference"]
    assert [one.kind for one in explain(model.train(), x)] == ["forward", "backward"]
    assert [one.kind for one in explain(model.eval(), x.requires_grad_())] == [
        "forward",
        "backward",
    ]
    assert [one.kind for one in explain(lambda a: model(a) * 2, x.detach())] == [
        "forward",
        "backward",
    ]
    assert all(each.grad is None for each in (x, *model.parameters()))


def test_what_it_cannot_take_stays_and_is_told() -> None:
    """In the middle: two parts of ours, and one warning that names the operator and the reason."""

    def model(x: Any) -> Any:
        y = torch.relu(x * 2 + 1)
        return torch.sigmoid(torch.cummax(y, 0)[0] - x).exp()

    x = torch.randn(4, 5)
    with pytest.warns(InarchWarning) as told:
        found = torch.compile(model, backend="inarch", dynamic=False)(x)
    torch.testing.assert_close(found, model(x))
    assert str(told[0].message) == (
        "torch.compile: 1 of 7 ops of the inference graph stay in PyTorch: "
        "aten.cummax.default (no converter); inarch.bridges.torch.explain(model, ...) lists them"
    )
    (captured,) = explain(model, x)
    assert str(captured) == (
        "inference: 6 of 7 ops in 2 parts\n"
        "  part 0: aten.sub.Tensor, aten.sigmoid.default, aten.exp.default\n"
        "  part 1: aten.mul.Tensor, aten.add.Tensor, aten.relu.default\n"
        "  torch: aten.cummax.default: no converter"
    )


def test_sizes_that_are_not_known_stay_in_pytorch() -> None:
    x = torch.randn(4, 5)
    with pytest.warns(InarchWarning, match="a size that is known at run time; use torch.compile"):
        found = torch.compile(lambda a: torch.relu(a) + 1, backend="inarch", dynamic=True)(x)
    torch.testing.assert_close(found, torch.relu(x) + 1)


def test_strides_of_results_are_those_of_pytorch() -> None:
    """A transposed result of a product, and inputs in any order of axes."""

    def model(x: Any, y: Any) -> Any:
        z = (x @ y).transpose(0, 1) * 2
        return z, (x + 1).transpose(0, 1)

    x, y = torch.randn(4, 3).t().contiguous().t(), torch.randn(3, 5)
    found = torch.compile(model, backend="inarch", dynamic=False)(x, y)
    for a, b in zip(found, model(x, y), strict=True):
        torch.testing.assert_close(a, b)
        assert a.stride() == b.stride()


def test_options_are_those_of_the_compiler() -> None:
    x = torch.randn(3)
    compiled = torch.compile(
        lambda a: torch.relu(a) * 2, backend="inarch", options={"target": "no-such-target"}
    )
    with pytest.raises(Exception, match="no-such-target"):
        compiled(x)


class _Counting(nn.Module):
    """Two layers, and a buffer that each call writes to."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)
        self.norm = nn.BatchNorm1d(16)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return self.second(torch.relu(self.norm(self.first(x)))) * self.calls


def _changed(model: Any, how: str) -> None:
    with torch.no_grad():
        match how:
            case "written":
                model.first.weight.mul_(2)
            case "loaded":
                model.load_state_dict({k: 2 * v for k, v in model.state_dict().items()})
            case _:
                model.second.bias = nn.Parameter(torch.ones(4))


@pytest.mark.parametrize("how", ["written", "loaded", "replaced"])
def test_frozen_parameters_are_constants(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But what the model writes to; one that has changed is refused, and compiled anew when asked to."""
    model = _Counting().eval()
    taken: list[Any] = []
    imported = graphs.import_graph

    def recorded(graph: Any, context: Any, name: str, constants: Any) -> Any:
        taken.append(sorted(each.shape for each in constants.values()))
        return imported(graph, context, name, constants)

    monkeypatch.setattr(graphs, "import_graph", recorded)
    torch.compiler.reset()
    fast = torch.compile(model, backend="inarch", options={"freeze": True}, dynamic=False)
    x = torch.randn(2, 8)
    for _ in range(2):
        with torch.no_grad():
            found = fast(x)
            model.calls -= 1
            torch.testing.assert_close(found, model(x))
    assert taken == [[(4,), (4, 16), (16,), (16,), (16,), (16,), (16,), (16, 8)]]
    _changed(model, how)
    with (
        torch.no_grad(),
        pytest.raises(RuntimeError, match=r"the frozen parameter L\[.* as it was"),
    ):
        fast(x)
    torch.compiler.reset()
    with torch.no_grad():
        found = fast(x)
        model.calls -= 1
        torch.testing.assert_close(found, model(x))


def test_nothing_is_frozen_where_it_would_be_lost() -> None:
    """Gradients need their weights; writes to tensors of inference mode are not counted."""
    torch.compiler.reset()
    options = {"backend": "inarch", "options": {"freeze": True}, "dynamic": False}
    model = nn.Linear(3, 2)
    with pytest.warns(InarchWarning, match="nothing is frozen where gradients are recorded"):
        torch.compile(model, **options)(torch.ones(1, 3)).sum().backward()
    assert model.bias.grad.tolist() == [1.0, 1.0]
    with torch.inference_mode():
        model = nn.Linear(3, 4)
        fast = torch.compile(model, **options)
        with pytest.warns(InarchWarning, match="2 parameters are not frozen, such as L"):
            fast(torch.ones(1, 3))
        model.bias.add_(1)
        torch.testing.assert_close(fast(torch.ones(1, 3)), model(torch.ones(1, 3)))


def test_no_framework_is_imported_without_asking() -> None:
    """B4: Inarch knows nothing of PyTorch before it is asked for, and PyTorch finds it by an entry point."""
    script = """
    import sys
    import inarch.bridges.torch, inarch.frontends.torch.graph
    assert "torch" not in sys.modules
    import torch
    assert "inarch" in torch.compiler.list_backends()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(autouse=True)
def fixture_fresh() -> None:
    """What PyTorch has compiled of one test is not of another. Its own warnings are none of ours."""
    torch.compiler.reset()
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="torch")


def test_update_rules_are_those_of_torch_optim() -> None:
    """B12: SGD with momentum and Adam of docs/compute.md, on PyTorch's tensors, in every step."""
    step, adam = rule("step"), rule("adam")
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(50, generator=generator)
    theirs = [torch.nn.Parameter(start.clone()) for _ in range(2)]
    ours, m, (m1, v) = [start.clone() for _ in range(2)], torch.zeros(50), torch.zeros(2, 50)
    optimizers = (
        torch.optim.SGD([theirs[0]], lr=0.1, momentum=0.9),
        torch.optim.Adam([theirs[1]], lr=0.01),
    )
    for iteration in range(1, 6):
        g = torch.randn(50, generator=generator)
        for parameter, optimizer in zip(theirs, optimizers, strict=True):
            parameter.grad = g.clone()
            optimizer.step()
        step(ours[0], m, g, 0.1, 0.9, 0.0)
        adam(ours[1], m1, v, g, 0.01, 0.9, 0.999, 1e-8, 1 - 0.9**iteration, 1 - 0.999**iteration)
        for own, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(own, other.detach(), rtol=1e-5, atol=1e-6)
