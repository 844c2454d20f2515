"""`torch.compile(backend="inarch")`: what a call gives and its gradients are those of PyTorch without it.

Of every converter's operator, of functions and layers of the library, of tensors of all dtypes and strides.
What stays in PyTorch has to be as right as what Inarch takes.
"""

# PyTorch is untyped where it is not installed:
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingImports=false
from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from inarch.bridges.torch.decomposed import decompositions
from tests.unit.bridges.test_torch_ops import CASES

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed: make bridges")
nn: Any = torch.nn
F: Any = nn.functional

# What stays in PyTorch is a warning; PyTorch warns of its own code.
pytestmark = [
    pytest.mark.filterwarnings("ignore::inarch.core.errors.InarchWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.every_case(reason="each is an operator of its own"),
]


def called(function: Any, inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The outputs, and the gradients of a weighted sum of them by each input and parameter."""
    wanting = [x for x in inputs if x.is_floating_point()]
    for each in wanting:
        each.requires_grad_()
    parameters: Any = getattr(function, "parameters", tuple)
    wanting += list(parameters())
    given = function(*inputs)
    outputs = list(given) if isinstance(given, tuple | list) else [given]
    differentiable = [each for each in outputs if each.requires_grad]
    torch.manual_seed(1)
    weights = [torch.randn_like(each) for each in differentiable]
    found = (
        torch.autograd.grad(differentiable, wanting, weights, allow_unused=True)
        if differentiable
        else ()
    )
    buffers: Any = getattr(function, "buffers", tuple)
    return [each.detach() for each in (*outputs, *buffers())], list(found)


def check(function: Any, inputs: Sequence[Any]) -> None:
    """Compares a call with and without Inarch: within 1e-5 of the largest, or what the dtype has."""
    torch.compiler.reset()
    other = copy.deepcopy(function)
    want = called(function, [x.detach() for x in inputs])
    compiled: Any = torch.compile(other, backend="inarch", dynamic=False)
    for name in ("parameters", "buffers"):  # which are looked for
        if hasattr(other, name):
            setattr(compiled, name, getattr(other, name))
    got = called(compiled, [x.detach() for x in inputs])
    for what, pairs in (("output", zip(want[0], got[0], strict=True)),
                        ("gradient", zip(want[1], got[1], strict=True))):  # fmt: skip
        for number, (a, b) in enumerate(pairs):
            if a is None or b is None:
                assert a is b, f"{what} {number}: {a} and {b}"
                continue
            assert what == "gradient" or a.stride() == b.stride()
            bound = {torch.bfloat16: 2e-2}.get(a.dtype, 1e-5)
            finite = a.detach()[torch.isfinite(a)].double().abs()
            most = max([*finite, 1e-3]) if finite.numel() else 1e-3
            torch.testing.assert_close(b, a, rtol=bound, atol=bound * float(most), equal_nan=True)


def R(*shape: int, seed: int = 0) -> Any:  # noqa: N802
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def P(*shape: int) -> Any:  # noqa: N802
    """Positive numbers."""
    return R(*shape).abs() + 0.1


IDS = torch.tensor([[1, 6, 3], [0, 3, 3]])
QKV = [R(2, 4, 5, 8, seed=n) for n in range(3)]
attend = F.scaled_dot_product_attention

FUNCTIONS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "attention": (attend, QKV),
    "attention, causal": (lambda q, k, v: attend(q, k, v, is_causal=True), QKV),
    "attention, causal, more keys": (
        lambda q, k, v: attend(q, k, v, is_causal=True), [R(2, 4, 3, 8), *QKV[1:]]),
    "attention, masked": (lambda q, k, v: attend(q, k, v, R(5, 5) > 0), QKV),
    "attention, a row is masked": (
        lambda q, k, v: attend(q, k, v, torch.arange(5)[:, None] > torch.arange(5)), QKV),
    "attention, a mask that is added": (lambda q, k, v: attend(q, k, v, R(2, 1, 5, 5)), QKV),
    "attention, a mask that is learned": (attend, [*QKV, R(5, 5)]),
    "attention, scale": (lambda q, k, v: attend(q, k, v, scale=0.3), QKV),
    "attention, grouped": (
        lambda q, k, v: attend(q, k, v, enable_gqa=True), [QKV[0], R(2, 2, 5, 8), R(2, 2, 5, 8, seed=3)]),
    "attention, f64": (attend, [x.double() for x in QKV]),
    "attention, bf16": (attend, [x.bfloat16() for x in QKV]),
    "attention, three axes": (attend, [R(4, 5, 8, seed=n) for n in range(3)]),
    "normalize": (F.normalize, [R(3, 4)]),
    "normalize in between": (lambda x: F.normalize(x @ x.t()).exp(), [R(3, 4)]),
    "divided by an expanded sum": (lambda x: x / x.sum(1, keepdim=True).expand_as(x), [P(3, 4)]),
    "saved expanded": (
        lambda x: (x.mean(0).expand(3, 4).exp() * x, x.mean(1, True).expand(2, 3, 4).tanh()), [R(3, 4)]),
    "cosine_similarity": (F.cosine_similarity, [R(3, 4), R(3, 4, seed=1)]),
    "pairwise_distance": (F.pairwise_distance, [R(3, 4), R(3, 4, seed=1)]),
    "cdist": (torch.cdist, [R(3, 4), R(5, 4)]),
    "logsumexp": (lambda x: x.logsumexp(1), [R(3, 4)]),
    "cumsum, cumprod": (lambda x: (x.cumsum(1), x.cumprod(0)), [R(3, 4)]),
    "var, std, norm": (lambda x: (x.var(1), x.std(0), x.norm(dim=1), x.norm()), [R(3, 4)]),
    "var_mean": (lambda x: torch.var_mean(x, 1, keepdim=True), [R(3, 4)]),
    "prod": (lambda x: x.prod(1), [R(3, 4)]),
    "max, min, median": (
        lambda x: (x.max(1)[0], x.min(0)[0], x.median(1)[0], x.max(), x.aminmax(dim=1)[0]), [R(3, 5)]),
    "topk, sort": (lambda x: (*x.topk(2), *x.sort(0)), [R(3, 5)]),
    "einsum": (lambda x, y: torch.einsum("bij,bkj->bik", x, y), [R(2, 3, 4), R(2, 5, 4)]),
    "bilinear": (F.bilinear, [R(3, 4), R(3, 5), R(2, 4, 5), R(2)]),
    "outer, dot, mv": (lambda x, y: (torch.outer(x, y), x @ x, torch.outer(x, y) @ y), [R(3), R(4)]),
    "baddbmm": (torch.baddbmm, [R(2, 3, 5), R(2, 3, 4), R(2, 4, 5)]),
    "gather, index_select": (lambda x: (x.gather(0, IDS), x.index_select(1, IDS[0] % 3)), [R(7, 3)]),
    "scatter_add, index_add": (
        lambda x, y: (x.scatter_add(0, IDS, y), x.index_add(0, IDS[0], y[[0, 1, 0]])), [R(7, 3), R(2, 3)]),
    "indexing": (lambda x: (x[IDS], x[:, [0, 2]], x[x > 0].sum(), x[..., None, ::2]), [R(7, 3)]),
    "writing into a copy": (lambda x: x.clone().index_fill_(0, IDS[0], 2.0).mul_(x), [R(7, 3)]),
    "masked_fill, tril, triu": (lambda x: (x.masked_fill(x > 0, -1), x.tril(), x.triu(1)), [R(4, 4)]),
    "roll, flip, repeat": (
        lambda x: (x.roll(1, 0), x.flip(1), x.repeat(2, 3), x.repeat_interleave(2, 1)), [R(3, 4)]),
    "unbind, split, chunk": (lambda x: (*x.unbind(1), *x.split(2, 1), *x.chunk(3)), [R(3, 4)]),
    "diag, trace": (lambda x: (x.diag(), x.diagonal(1), x.trace(), x[0].diag_embed()), [R(4, 4)]),
    "unfold": (lambda x: x.unfold(1, 3, 1) * 2, [R(3, 6)]),
    "windows": (lambda x: F.fold(F.unfold(x, 3, padding=1).exp(), (6, 6), 3, padding=1), [R(1, 2, 6, 6)]),
    "as_strided": (lambda x: x.exp().as_strided((4, 3), (1, 1)) + 1, [R(6)]),
    "lerp, addcmul, addcdiv": (
        lambda x, y: (x.lerp(y, 0.3), x.addcmul(x, y, value=2), x.addcdiv(x, y)), [R(3, 4), P(3, 4)]),
    "glu, softplus, elu, celu, selu": (
        lambda x: (F.glu(x), F.softplus(x), F.elu(x), F.celu(x), F.selu(x)), [R(3, 4)]),
    "mish, hardsigmoid, logsigmoid": (
        lambda x: (F.mish(x), F.hardsigmoid(x * 3), F.logsigmoid(x), F.softsign(x), F.tanhshrink(x)),
        [R(3, 4)]),
    "log1p, expm1, sinc": (lambda x: (x.log1p(), x.expm1(), x.sinc(), x.logit(), x.erfc()), [P(3, 4) / 4]),
    "pow": (lambda x, y: (x**y, x**-1, 2**x, x**2.5, x.sqrt() ** 3), [P(3, 4), R(3, 4)]),
    "atan2, hypot": (lambda x, y: (torch.atan2(x, y), torch.hypot(x, y), torch.fmod(x, 0.7)),
        [P(3, 4), P(3, 4)]),
    "clamp by tensors": (lambda x, y: torch.clamp(x, -y, y), [R(3, 4), P(3, 4)]),
    "cross_entropy": (lambda x: F.cross_entropy(x, IDS[:, 0], label_smoothing=0.1), [R(2, 7)]),
    "cross_entropy of images": (lambda x: F.cross_entropy(x, IDS % 4, ignore_index=3), [R(2, 4, 3)]),
    "losses": (
        lambda x, y: (F.mse_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y), F.l1_loss(x, y),
            F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
            F.binary_cross_entropy_with_logits(x, y.sigmoid()), F.poisson_nll_loss(x, y.exp())),
        [R(3, 4), R(3, 4, seed=1)]),
    "interpolate": (
        lambda x: (F.interpolate(x, scale_factor=2, mode="bilinear"), F.interpolate(x, size=(7, 5)),
            F.interpolate(x, size=(3, 3), mode="bicubic")), [R(1, 2, 4, 4)]),
    "grid_sample": (F.grid_sample, [R(1, 2, 5, 5), R(1, 3, 3, 2) / 2]),
    "pads": (lambda x: (F.pad(x, (1, 2), "reflect"), F.pad(x, (1, -1)), F.pad(x, (2, 0), "circular")),
        [R(1, 2, 5)]),
    "pools": (
        lambda x: (F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, (2, 3)),
            F.adaptive_max_pool2d(x, 2), F.lp_pool2d(x, 2, 2)), [R(1, 2, 7, 8)]),
    "group_norm, instance_norm": (lambda x: (F.group_norm(x, 2), F.instance_norm(x)), [R(2, 4, 5)]),
    "layer_norm, moments used": (lambda x: torch.native_layer_norm(x, (5,), None, None, 1e-2), [R(3, 5)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (5,), w, 1e-2), [R(3, 5), R(5)]),
    "batch_norm": (lambda x, w: F.batch_norm(x, None, None, w, training=True), [R(4, 3, 5), R(3)]),
    "conv3d": (F.conv3d, [R(1, 2, 4, 5, 5), R(3, 2, 2, 3, 3), R(3)]),
    "conv_transpose1d": (lambda x, w: F.conv_transpose1d(x, w, stride=2), [R(1, 2, 5), R(2, 3, 3)]),
    "complex": (lambda x: torch.fft.rfft(x).abs(), [R(3, 8)]),
    "complex views": (lambda x: torch.view_as_complex(x).conj().imag * 2, [R(3, 2)]),
    "detach, two uses": (lambda x: x * x.detach() + x.exp() / x.exp().sum().detach(), [R(3, 4)]),
    "an output that is an input": (lambda x: (x, x.t(), x * 2, x.view(-1)), [R(3, 4)]),
    "ids and numbers": (lambda x: (x[0] * IDS, IDS.float().mean() * x, (x > 0) * x), [R(3, 3)]),
    "an empty one": (lambda x: (x[:0].exp(), torch.cat([x[:0], x]) * 2), [R(3, 4)]),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in CASES if "batch_norm" not in name])
def test_the_operator_of_a_converter(name: str) -> None:
    """But batch_norm's, of which PyTorch has no gradient by the statistics: it is a layer below.

    Of flash attention it has none by the mask. At NaN the decomposition of PyTorch of the gradient of a clamp
    is not what its kernel does.
    """
    case, inputs = CASES[name]
    function = (lambda q, mask: case(q, mask.detach())) if "masked" in name else case
    check(function, [torch.nan_to_num(each, 0.7, 2.2, -2.1) for each in inputs])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function(name: str) -> None:
    check(*FUNCTIONS[name])


class Transposed(nn.Module):
    """Two layers with an axis in another place between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(3, 5)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x).transpose(1, 2).relu()).permute(2, 0, 1)


LAYERS: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "Linear": (lambda: nn.Linear(4, 5), [R(3, 4)]),
    "Linear of rank 4": (lambda: nn.Linear(4, 5, bias=False), [R(2, 3, 2, 4)]),
    "transposed between": (Transposed, [R(2, 3, 4)]),
    "Conv1d": (lambda: nn.Conv1d(3, 4, 3, stride=2, padding=1), [R(2, 3, 9)]),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, padding=2, dilation=2, groups=2), [R(2, 4, 7, 6)]),
    "Conv2d, channels last": (
        lambda: nn.Conv2d(4, 6, 3).to(memory_format=torch.channels_last),
        [R(2, 4, 7, 6).contiguous(memory_format=torch.channels_last)]),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), [R(1, 3, 5, 5)]),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), [R(6, 4)]),
    "BatchNorm2d": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU()), [R(2, 2, 5, 5)]),
    "BatchNorm2d, known": (lambda: nn.Sequential(nn.BatchNorm2d(2), nn.ReLU6()).eval(), [R(2, 2, 5, 5)]),
    "LayerNorm": (lambda: nn.LayerNorm((3, 4), eps=1e-2), [R(2, 3, 4)]),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), [R(2, 4, 3, 3)]),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True), [R(2, 3, 4, 4)]),
    "RMSNorm": (lambda: nn.RMSNorm(4), [R(2, 3, 4)]),
    "Embedding": (lambda: nn.Sequential(nn.Embedding(7, 4, padding_idx=3), nn.Linear(4, 2)), [IDS]),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(7, 4, mode="mean"), [IDS]),
    "RNN": (lambda: nn.RNN(4, 5, batch_first=True), [R(2, 3, 4)]),
    "LSTM": (lambda: Flat(nn.LSTM(4, 5, num_layers=2, bidirectional=True)), [R(3, 2, 4)]),
    "GRU": (lambda: Flat(nn.GRU(4, 5)), [R(3, 2, 4)]),
    "LSTMCell": (lambda: nn.LSTMCell(4, 5), [R(2, 4)]),
    "MultiheadAttention": (
        lambda: Flat(nn.MultiheadAttention(8, 2, batch_first=True)), [R(2, 5, 8, seed=n) for n in range(3)]),
    "MultiheadAttention, no weights": (
        lambda: Flat(nn.MultiheadAttention(8, 2), need_weights=False),
        [R(5, 2, 8, seed=n) for n in range(3)]),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), [R(2, 5, 8)]),
    "TransformerEncoderLayer, evaluated": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", norm_first=True).eval(),
        [R(5, 2, 8)]),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0), [R(4, 2, 8), R(5, 2, 8)]),
    "Transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True), [R(2, 4, 8), R(2, 3, 8)]),
    "PReLU": (lambda: nn.PReLU(3), [R(2, 3, 4)]),
    "weight_norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 5)), [R(3, 4)]),
    "Bilinear": (lambda: nn.Bilinear(4, 5, 3), [R(2, 4), R(2, 5)]),
    "pooled classifier": (
        lambda: nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(36, 3), nn.LogSoftmax(-1)), [R(2, 1, 8, 8)]),
    "PixelShuffle, Upsample": (
        lambda: nn.Sequential(nn.PixelShuffle(2), nn.Upsample(scale_factor=2, mode="bilinear")),
        [R(1, 8, 3, 3)]),
}  # fmt: skip


class Flat(nn.Module):
    """A layer whose outputs are one tuple, those that are none left out."""

    def __init__(self, layer: Any, **settings: Any) -> None:
        super().__init__()
        self.layer, self.settings = layer, settings

    def forward(self, *inputs: Any) -> Any:
        first, second = self.layer(*inputs, **self.settings)
        others = second if isinstance(second, tuple) else (second,)
        return (first, *(each for each in others if each is not None))


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer(name: str) -> None:
    make, inputs = LAYERS[name]
    torch.manual_seed(0)
    check(make(), inputs)


def _mixed(x: Any, y: Any) -> tuple[Any, ...]:
    """Operators that compute, move, reduce, save what they got and what they gave."""
    z = x * y.sigmoid() + x.mean(1, keepdim=True).expand_as(x)
    return (
        z.softmax(-1).transpose(0, 1),
        F.layer_norm(z, (6,)) @ y.t(),
        F.gelu(z)[1:, ::2],
        torch.cat([x.exp(), y.tanh()], 1).amax(1),
        F.normalize(z),
        (x / (y.abs() + 1).sum(0)).reshape(-1),
        torch.where(x > y, x, y).expand(2, 4, 6).log_softmax(1),
    )


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "row-major": lambda x: x[:4].contiguous(),
    "transposed": lambda x: x[:4].t().contiguous().t(),
    "sliced": lambda x: torch.cat([x, x], 1)[::2, 1::2],
    "at an offset": lambda x: x.reshape(-1)[3:27].view(4, 6),
    "expanded": lambda x: x[:1].expand(4, 6),
    "overlapping": lambda x: x.as_strided((4, 6), (2, 1)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides_and_dtypes(layout: str, dtype: str) -> None:
    """The inputs' own strides; what Inarch has no dtype for stays in PyTorch, and is as right."""
    made = [LAYOUTS[layout](R(8, 6, seed=n).to(getattr(torch, dtype))) for n in range(2)]
    assert made[0].shape == (4, 6)
    check(_mixed, made)
    check(lambda x, y: _mixed(x.t(), y.t())[3:4] if x.shape[1] == 4 else x @ y.t(), made)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8", "bool"])
def test_integers(dtype: str) -> None:
    """There is nothing to differentiate but what floats do with them."""
    number = torch.arange(-5, 7).reshape(3, 4).to(getattr(torch, dtype))

    def model(i: Any, x: Any) -> tuple[Any, ...]:
        return (
            i + i,
            i * 3,
            i // 2 if i.dtype != torch.bool else ~i,
            x * i,
            i.sum(1),
            i.float() @ x.t(),
            i != 3,
        )

    check(model, [number, R(3, 4)])
    check(model, [number.t().contiguous().t(), R(3, 4)])


def test_operators_of_which_inductor_forbids_a_decomposition_have_none() -> None:
    """Of those with several results: the rest it leaves out for its own code's sake."""
    from torch._decomp import core_aten_decompositions
    from torch._inductor.decomposition import decomps_to_exclude

    core, ours = core_aten_decompositions(), decompositions()
    left = [op for op in core if op not in ours]
    several = [op for op in decomps_to_exclude if op in core and len(op._schema.returns) > 1]
    assert several
    assert set(several) <= set(left)
    assert {op._schema.name for op in left} == {
        "aten::_scaled_dot_product_flash_attention_for_cpu", "aten::_weight_norm_interface"
    }  # fmt: skip
