"""Bad models: one line each, that says what was expected, what was found, and where."""

# A bare pathlike in the stubs of onnx:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from inarch.core.errors import InarchError, UnsupportedError, UsageError
from inarch.dialects import new_context
from inarch.frontends import Sizes, read_model
from inarch.frontends.onnx import import_onnx
from inarch.frontends.onnx.whole import whole_model


def message(source: object, **options: object) -> str:
    """The whole line of the error that importing `source` raises."""
    with pytest.raises(InarchError) as caught:
        import_onnx(source, new_context(), Sizes(**options))  # pyright: ignore[reportArgumentType]
    return caught.value.line()


def parse(
    nodes: str, inputs: str = "float[2,3] x", outputs: str = "float[2,3] y", opset: int = 17
) -> onnx.ModelProto:
    text = (
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => ({outputs}) {{ {nodes} }}'
    )
    return onnx.parser.parse_model(text)


# ------------------------------------------------------------------------------------ files


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "expected an ONNX model, found an empty file"),
    "text": (b"hello, world\n" * 9, "expected an ONNX model, found text"),
    "noise": (
        b"\x0f\xff\xff\xff" * 9,
        "expected an ONNX model, found a truncated or damaged file (wire type 7)",
    ),
    "a pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
        "expected an ONNX model, found a pointer of Git LFS; fetch the model with: git lfs pull",
    ),
    "PyTorch's": (
        b"PK\x03\x04" + bytes(40),
        "expected an ONNX model, found a zip archive, as PyTorch writes; export it to ONNX, with "
        "torch.onnx.export",
    ),
    "no graph": (
        onnx.ModelProto(ir_version=8).SerializeToString(),
        "expected an ONNX model, found a message without a graph",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_file(tmp_path: Path, name: str) -> None:
    data, expected = FILES[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    assert message(path) == f"{path}: error: {expected}"
    assert message(data) == f"<model>: error: {expected}"


def test_truncated_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    data = parse("y = Relu(x)").SerializeToString()
    path.write_bytes(data[:-3])
    assert message(path) == (
        f"{path}: error: expected an ONNX model, "
        "found a truncated or damaged file (a field is longer than the file)"
    )


def test_names_that_are_not_text() -> None:
    data = parse("yyyy = Relu(x)", outputs="float[2,3] yyyy").SerializeToString()
    assert message(data.replace(b"yyyy", b"y\xffyy")) == (
        "<model>: error: expected names in UTF-8, found b'y\\xffyy'"
    )


def test_no_file(tmp_path: Path) -> None:
    assert message(tmp_path / "no.onnx") == (
        f"{tmp_path}/no.onnx: error: expected an ONNX model, found no such file"
    )
    assert message(tmp_path) == f"{tmp_path}: error: expected an ONNX model, found a folder"


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("m.pt2", "torch.onnx.export(torch.export.load('m.pt2'), f='model.onnx', dynamo=True)"),
        ("m.pt", "torch.onnx.export"),
        ("m.keras", "python -m tf2onnx.convert --keras m.keras --output model.onnx"),
        ("s/saved_model.pb", "python -m tf2onnx.convert --saved-model s --output model.onnx"),
        ("s", "python -m tf2onnx.convert --saved-model s --output model.onnx"),
    ],
)
def test_models_of_other_frameworks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s").mkdir()
    Path("s/saved_model.pb").write_bytes(b"")
    with pytest.raises(UsageError) as caught:
        read_model(path, new_context())
    assert caught.value.line() == (
        f"error: expected a model that ends in one of .mlir, .onnx; found '{path}'; "
        f"export it to ONNX, with {command}"
    )


def test_read_model_names_the_suffixes() -> None:
    with pytest.raises(
        UsageError,
        match=r"^expected a model that ends in one of \.mlir, \.onnx; found 'a\.tflite'; "
        r"export it to ONNX, with python -m tf2onnx\.convert --tflite a\.tflite --output model\.onnx$",
    ):
        read_model("a.tflite", new_context())
    with pytest.raises(UsageError, match=r"^expected a model: .* found int$"):
        read_model(3, new_context())


TEXT = "func.func @main(%x: tensor<2xf32>) {\n  func.return\n}\n"


@pytest.mark.parametrize(
    "source",
    [
        TEXT,
        TEXT * 9,
        "x" * 300,
        f"{'x' * 300}.onnx",
        "a\0b",
        "a\0b.mlir",
        "a\nb.mlir",
        "\ud800.onnx",
    ],
)
def test_text_that_is_no_path(source: str) -> None:
    """One line: neither OSError of a name that is too long, nor ValueError of one with a null character."""
    shown = f"{source[:40]}..." if len(source) > 40 else source
    with pytest.raises(UsageError) as caught:
        read_model(source, new_context())
    assert caught.value.message == (
        f"expected the path of a model, found text of {len(source)} characters, {shown!r}; "
        "write MLIR text to a file that ends in .mlir"
    )
    assert caught.value.line().isprintable()


def test_a_path_that_is_a_line_and_a_folder_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may be called so; of one in a folder of others only its suffix is seen."""
    (tmp_path / "a\nb.mlir").write_text("func.func @main() {\n  func.return\n}\n")
    assert read_model(str(tmp_path / "a\nb.mlir"), new_context()).body.ops

    def stat(path: Path, **_: bool) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(UsageError, match=r"^expected a model that ends in one of .* 'closed/m'$"):
        read_model("closed/m", new_context())


# ------------------------------------------------------------------------------------ structure


STRUCTURE: dict[str, str] = {
    # nodes: the message behind `<model>: `
    "y = Add(x, nothing)": (
        "node 'y' (Add): error: expected 'nothing' to be computed earlier, "
        "found no input, initializer or node of that name"
    ),
    "y = Add(x, z) z = Neg(y)": (
        "node 'z' (Neg): error: expected 'y' to be computed earlier, found a cycle"
    ),
    "z = Neg(x)": (
        "error: expected output 'y' to be computed, found no input, initializer or node of that name"
    ),
    "y = Add(x)": "node 'y' (Add): error: expected 2 inputs, found 1",
    "y = Clip(x, x, x, x)": "node 'y' (Clip): error: expected 1 to 3 inputs, found 4",
    "y = Concat<axis=0>()": "node 'y' (Concat): error: expected at least 1 inputs, found 0",
    "y, z = Relu(x)": "node 'y' (Relu): error: expected 1 outputs, found 2",
    "y = Relu<alpha=1>(x)": "node 'y' (Relu): error: expected attributes among none; found 'alpha'",
    "y = Elu<alpha=1>(x)": "node 'y' (Elu): error: expected attribute 'alpha' of type FLOAT, found INT",
    "y = Cast(x)": "node 'y' (Cast): error: expected attribute 'to', found none",
    "y = Relu(x) y = Neg(x)": "node 'y' (Neg): error: output 'y' is computed twice",
    "x = Relu(x) y = Neg(x)": "node 'x' (Relu): error: output 'x' is computed twice",
    "y = MatMul(x, x)": "node 'y' (MatMul): error: expected 3 rows in the second operand, found 2",
    "y = Transpose<perm=[0,2]>(x)": (
        "node 'y' (Transpose): error: expected a permutation of 0 .. 1, found [0, 2]"
    ),
    "y = Softmax<axis=2>(x)": "node 'y' (Softmax): error: expected an axis of rank 2, found 2",
    "y = Conv(x, x)": (
        "node 'y' (Conv): error: expected one rank of 3 or more, found shapes (2, 3) and (2, 3)"
    ),
    "s = Constant<value=int64[2] {4,-1}>() y = Reshape(x, s)": (
        "node 'y' (Reshape): error: expected a shape for 6 elements, found [4, -1]"
    ),
    "s = Constant<value=int64[2] {-1,-1}>() y = Reshape(x, s)": (
        "node 'y' (Reshape): error: expected sizes with at most one -1, found [-1, -1]"
    ),
    "a = Constant<value=int64[1] {0}>() y = Squeeze(x, a)": (
        "node 'y' (Squeeze): error: expected size 1 along axes [0], found shape (2, 3)"
    ),
    "n = Constant<value=int64[2] {1,2}>() y = ReverseSequence(x, n)": (
        "node 'y' (ReverseSequence): error: expected sequence_lens of shape (3,), found (2,)"
    ),
    "n = Constant<value=int64[2] {1,2}>() y = ReverseSequence<batch_axis=0>(x, n)": (
        "node 'y' (ReverseSequence): error: expected batch_axis and time_axis to be 0 and 1 of rank 2 "
        "or more, found 0 and 0 of shape (2, 3)"
    ),
    "y = DFT(x)": (
        "node 'y' (DFT): error: expected an input of rank 2 or more whose last size is 1 or 2, "
        "found shape (2, 3)"
    ),
    "y = Det(x)": "node 'y' (Det): error: expected square matrices, found shape (2, 3)",
    "c = Constant<value=bool[4] {1,0,1,0}>() y = Compress<axis=1>(x, c)": (
        "node 'y' (Compress): error: expected a condition of at most 3 elements, found shape (4,)"
    ),
    "i = Constant<value=int64[2] {5,5}>() b = Constant<value=int64[2] {1,5}>() y = Col2Im(x, i, b)": (
        "node 'y' (Col2Im): error: expected an input [batch, channels * 5, 5], found shape (2, 3)"
    ),
    "y = foo.Bar(x)": "node 'y' (Bar): error: expected an import of operator set 'foo', found none",
    "s = Shape(x) t = Concat<axis=0>(s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s) y = Expand(x, t)": (
        "node 'y' (Expand): error: expected at most 32 dimensions, found 34"
    ),
    "s = Constant<value=int64[3] {1000000,1000000,1000000}>() c = ConstantOfShape(s) y = Neg(c)": (
        "node 'c' (ConstantOfShape): error: expected tensors of less than 1 TiB, "
        "found one of shape (1000000, 1000000, 1000000)"
    ),
}


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize("nodes", STRUCTURE)
def test_structure(nodes: str) -> None:
    assert message(parse(nodes)) == f"<model>: {STRUCTURE[nodes]}"


@pytest.mark.parametrize(
    ("node", "number"),
    [
        ("IsInf", "inf"),
        ("IsInf<detect_positive=0>", "nan"),
        ("LeakyRelu<alpha=0.5>", "0.5"),
        ("LeakyRelu<alpha=3000000000.0>", "3000000000.0"),
        ("Celu<alpha=-1e30>", "-1.0000000150474662e+30"),
    ],
)
def test_floats_that_an_integer_dtype_does_not_have_are_refused(node: str, number: str) -> None:
    operator = node.partition("<")[0]
    assert message(parse(f"y = {node}(x)", "int32[2,3] x", "int32[2,3] y")) == (
        f"<model>: node 'y' ({operator}): error: expected a float dtype, which has {number}, found i32"
    )


def test_an_output_shape_that_pads_do_not_reach() -> None:
    """Less than a stride may be missing, as output_padding is; N and C are not part of it."""
    inputs = "float[1,1,2] x, float[1,1,2] w"
    for shape, expected in (("[6]", "at most [5]"), ("[1,1,4]", "1 sizes >= 1")):
        node = f"y = ConvTranspose<strides=[2], output_shape={shape}>(x, w)"
        assert message(parse(node, inputs)) == (
            "<model>: node 'y' (ConvTranspose): error: expected an output_shape of "
            f"{expected}, found {shape.replace(',', ', ')}"
        )


@pytest.mark.parametrize(("opset", "wanted"), [(18, 2), (21, 4)])
def test_group_normalization_of_other_shapes(opset: int, wanted: int) -> None:
    inputs = "float[1,4,5] x, float[3] s"
    node = "y = GroupNormalization<num_groups={}>(x, s, s)"
    assert message(parse(node.format(2), inputs, opset=opset)) == (
        f"<model>: node 'y' (GroupNormalization): error: expected scale of shape ({wanted},), found (3,)"
    )
    assert message(parse(node.format(3), inputs, opset=opset)) == (
        "<model>: node 'y' (GroupNormalization): error: expected an input of rank 3 or more whose "
        "channels num_groups divides, found shape (1, 4, 5) and num_groups = 3"
    )


def test_a_split_has_as_many_outputs_as_it_says() -> None:
    """Before as many sizes are made as it says."""
    model = parse("y = Split<axis=0, num_outputs=1000000000>(x)", opset=18)
    assert message(model) == (
        "<model>: node 'y' (Split): error: expected num_outputs to be 1, as outputs are listed, "
        "found 1000000000"
    )


def test_named_node_and_path_are_where(tmp_path: Path) -> None:
    model = parse("y = Softmax<axis=5>(x)")
    model.graph.node[0].name = "probabilities/é:0"
    path = tmp_path / "model.onnx"
    onnx.save(model, str(path))
    assert message(path) == (
        f"{path}: node 'probabilities/é:0' (Softmax): error: expected an axis of rank 2, found 5"
    )


def test_duplicates() -> None:
    model = parse("y = Add(x, w)")
    weight = numpy_helper.from_array(np.ones(3, "float32"), "w")
    model.graph.initializer.extend([weight, weight])
    assert message(model) == "<model>: error: initializer 'w' is given twice"
    model = parse("y = Neg(x)")
    model.graph.input.append(model.graph.input[0])
    assert message(model) == "<model>: error: input 'x' is given twice"


def test_no_outputs() -> None:
    model = parse("y = Neg(x)")
    model.graph.ClearField("output")
    assert message(model) == "<model>: error: expected a graph with outputs, found none"


def test_opset() -> None:
    newest = onnx.defs.onnx_opset_version()
    for opset in (5, newest + 1):
        model = parse("y = Neg(x)", opset=opset)
        assert message(model) == (
            f"<model>: error: expected version 6 to {newest} of ai.onnx (those of the installed package "
            f"onnx), found {opset}"
        )

    model.opset_import.add(domain="foo", version=1 << 40)
    assert message(model) == (
        "<model>: error: expected a version of operator set 'foo', found 1099511627776"
    )


# ------------------------------------------------------------------------------------ tensors


def _with_weight(tensor: TensorProto) -> onnx.ModelProto:
    model = parse("y = Add(x, w)")
    model.graph.initializer.append(tensor)
    return model


def test_weight_of_the_wrong_size() -> None:
    tensor = TensorProto(name="w", data_type=1, dims=[3], raw_data=b"12345")
    assert message(_with_weight(tensor)) == (
        "<model>: tensor 'w': error: expected 12 bytes of data, found 5"
    )
    tensor = TensorProto(name="w", data_type=1, dims=[3], float_data=[1, 2])
    assert message(_with_weight(tensor)) == (
        "<model>: tensor 'w': error: expected 3 numbers of data, found 2"
    )
    tensor = TensorProto(name="w", data_type=1, dims=[1] * 33, float_data=[1])
    assert message(_with_weight(tensor)) == (
        "<model>: tensor 'w': error: expected at most 32 dimensions, found 33"
    )
    tensor = TensorProto(name="w", data_type=1, dims=[-3])
    assert message(_with_weight(tensor)) == (
        "<model>: tensor 'w': error: expected sizes >= 0, found [-3]"
    )


def _external(**entries: str) -> onnx.ModelProto:
    tensor = TensorProto(name="w", data_type=1, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return _with_weight(tensor)


def test_external_data(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    where = f"{path}: tensor 'w': error: "

    def saved(**entries: str) -> str:
        onnx.save(_external(**entries), str(path))
        return message(path)

    assert (
        saved(location="w.bin")
        == f"{where}expected external data in '{tmp_path}/w.bin', found no such file"
    )
    (tmp_path / "w.bin").write_bytes(bytes(14))
    assert saved(location="w.bin", offset="4") == (
        f"{where}expected 12 bytes at 4 of '{tmp_path}/w.bin', found 10"
    )
    assert saved(location="w.bin", length="8") == (
        f"{where}expected 12 bytes at 0 of '{tmp_path}/w.bin', found 8"
    )
    assert saved(location="w.bin", offset="-1") == (
        f"{where}expected the offset of external data to be a number, found '-1'"
    )
    for outside in ("../w.bin", "/etc/passwd", "a/../../w.bin", "", str(tmp_path / "w.bin")):
        assert saved(location=outside) == (
            f"{where}expected external data in the model's folder, found '{outside}'"
        )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "link.bin").symlink_to("/etc/passwd")
    assert saved(location="sub/link.bin") == (
        f"{where}expected external data in the model's folder, found 'sub/link.bin'"
    )
    # Of an attribute the node is named, however the model is read.
    model, (tensor,) = (
        parse("w = Identity(x) y = Add(x, w)"),
        _external(location="v.bin").graph.initializer,
    )
    model.graph.node[0].CopyFrom(helper.make_node("Constant", [], ["w"], value=tensor))
    onnx.save(model, str(path))
    said = (
        f"{path}: node 'w' (Constant): error: attribute 'value': tensor 'w': expected external data in "
        f"'{tmp_path}/v.bin', found no such file"
    )
    assert message(path) == said
    with pytest.raises(InarchError) as caught:
        whole_model(path)
    assert caught.value.line() == (
        f"{path}: node 'w' (Constant): attribute 'value': error: expected external data in "
        f"'{tmp_path}/v.bin', found no such file"
    )
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, found in (
        ("pipe", "no regular file"),
        ("loop", "Too many levels of symbolic links"),
        ("sub", "Is a directory"),
    ):
        wanted = f"{where}expected external data in '{tmp_path}/{name}', found {found}"
        assert saved(location=name) == wanted
    for name in ("zero", "w\0bin"):
        assert "expected external data in the model's folder, found " in saved(location=name)
    assert message(_external(location="w.bin")) == (
        "<model>: tensor 'w': error: its data is external, in 'w.bin': expected the model as a path"
    )


# ------------------------------------------------------------------------------------ unsupported


LISTED = (
    "; 'inarch list onnx-operators' has those that are there, docs/extending.md how one is added"
)


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ("Softmaks(x)", "no operator of ai.onnx that is known; did you mean 'Softmax'?"),
        ("Zzz(x)", "no operator of ai.onnx that is known"),
        ("Swish(x)", "ai.onnx has it from version 24 on, and the model imports 17"),
    ],
)
def test_an_operator_that_is_not_there(node: str, why: str) -> None:
    name = node.partition("(")[0]
    text = message(parse(f"y = {node}"))
    assert text == f"<model>: error: unsupported: {name} ('y'; {why}){LISTED}"


def test_everything_unsupported_at_once() -> None:
    nodes = (
        "a = Multinomial(x) b = Multinomial(a) c = RandomNormalLike(b) d = Cast<to=24>(x) s = Cast<to=7>(x) "
        "e = Reshape(x, s) y = Sum(c, d, e)"
    )
    model = parse(nodes, "float[2,2] x, float8e8m0[3] h", "float[2,2] y, float8e8m0[3] h")
    text = message(model)
    row = "give its row by --load f8E8M0FNU.py (docs/extending.md)"
    assert text == (
        f"<model>: error: unsupported: dtype float8e8m0; {row} ('h'), Multinomial ('a', 'b'), "
        f"RandomNormalLike ('c'), Cast: dtype float8e8m0; {row} ('d'), "
        f"Reshape: shape is computed at run time ('e'){LISTED}"
    )


def test_many_names_are_cut() -> None:
    nodes = (
        " ".join(f"y{i} = Multinomial(x)" for i in range(7))
        + " y = Sum(y0, y1, y2, y3, y4, y5, y6)"
    )
    assert message(parse(nodes)) == (
        f"<model>: error: unsupported: Multinomial ('y0', 'y1', 'y2', 'y3', 'y4' and 2 more){LISTED}"
    )


def test_unsupported_is_not_implemented() -> None:
    with pytest.raises(NotImplementedError):
        import_onnx(parse("y = Multinomial(x)"), new_context())
    assert issubclass(UnsupportedError, NotImplementedError)


def test_points_that_a_region_has_by_its_size_are_refused() -> None:
    inputs = "float[1,2,4,4] x, float[3,4] r, int64[3] i"
    assert message(parse("y = RoiAlign(x, r, i)", inputs)) == (
        "<model>: error: unsupported: RoiAlign: sampling_ratio = 0, "
        "as many points as a region is large ('y')"
    )
    assert message(
        parse("y = RoiAlign<sampling_ratio=2>(x, i, i)", inputs.replace("r,", "s,"))
    ) == (
        "<model>: node 'y' (RoiAlign): error: expected an image of rank 4, regions of shape (n, 4) and "
        "n indices, found (1, 2, 4, 4), (3,) and (3,)"
    )


def test_what_is_unsupported_but_dead_does_not_matter() -> None:
    module = import_onnx(parse("z = Multinomial(x) y = Neg(x)"), new_context())
    assert [op.name for op in module.walk() if op.name.startswith("graph.")] == ["graph.neg"]


def test_training_mode() -> None:
    nodes = "m = Constant<value=bool {1}>() r = Constant<value=float {0.5}>() y = Dropout(x, r, m)"
    assert message(parse(nodes)) == "<model>: error: unsupported: Dropout: training mode ('y')"


def test_an_output_that_is_not_made() -> None:
    """By ONNX's name of it, the model's, and that of the node."""
    node = onnx.helper.make_node("MaxPool", ["x"], ["p", "y"], name="pool", kernel_shape=[2])
    model = parse("p = Neg(x)", "float[1,2,8] x", "int64[1,2,7] y")
    model.graph.node[0].CopyFrom(node)
    assert message(model) == "<model>: error: unsupported: MaxPool: output Indices 'y' ('pool')"
    norm = "y, m, v = BatchNormalization(x, s, s, s, s)"
    assert message(
        parse(norm, "float[1,2,8] x, float[2] s", "float[1,2,8] y, float[2] v", opset=13)
    ) == ("<model>: error: unsupported: BatchNormalization: output var 'v' ('y')")


def test_sequence_input() -> None:
    model = parse("y = Neg(x)")
    model.graph.input.append(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None))
    assert message(model, shapes={"s": [1]}) == "<model>: error: unsupported: sequence input ('s')"


def test_what_a_definition_needs() -> None:
    model = parse("z, y = NegativeLogLikelihoodLoss(x, t)", "float[2,3] x, int64[2] t")
    assert message(model).startswith(
        "<model>: node 'z' (NegativeLogLikelihoodLoss): error: expected 1 outputs"
    )
    model = parse("y = AffineGrid(x, s)", "float[1,2,3] x, int64[4] s", "float[1,2,3,2] y", 20)
    assert message(model).startswith(
        "<model>: error: unsupported: AffineGrid: its definition needs "
    )


# ------------------------------------------------------------------------------------ dimensions


SYMBOLIC = "float[batch,?,3] x, float[batch,length] z"


def symbolic() -> onnx.ModelProto:
    return parse("a = ReduceSum(x) b = ReduceSum(z) y = Add(a, b)", SYMBOLIC, "float[1,1,1] y")


def test_unbound_dimensions() -> None:
    assert message(symbolic()) == (
        "<model>: error: dimension 'batch' of input 'x' is not bound; bind it with --dim batch=1, or "
        "make an artifact of several sizes with `inarch compile --specialize batch=1,8` "
        "(unbound: batch, x.1, length)"
    )
    assert message(symbolic(), dims={"batch": 2, "length": 3}) == (
        "<model>: error: dimension 'x.1' of input 'x' is not bound; bind it with --dim x.1=1, or make "
        "an artifact of several sizes with `inarch compile --specialize x.1=1,8` (unbound: x.1)"
    )


def test_dimensions_that_do_not_fit() -> None:
    model = symbolic()
    assert message(model, dims={"bacth": 2}) == (
        "error: no dimension 'bacth' in <model>; did you mean 'batch'? Known: batch, length, x.1"
    )
    assert (
        message(model, dims={"batch": -2})
        == "error: expected a size >= 0 for dimension 'batch', found -2"
    )
    assert message(model, shapes={"x": [2, 2, 4]}) == (
        "error: input 'x': expected shape batchxx.1x3, found [2, 2, 4]"
    )
    assert message(model, shapes={"x": [2, 3]}) == (
        "error: input 'x': expected 3 dimensions (batchxx.1x3), found [2, 3]"
    )
    assert message(model, dims={"batch": 2}, shapes={"z": [3, 2]}) == (
        "error: input 'z': expected 'batch' = 2, found 3"
    )
    assert message(model, shapes={"X": [1]}) == "error: no input 'X' in <model>. Known: x, z"


def test_input_without_a_shape() -> None:
    model = parse("y = Neg(x)")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    assert message(model) == (
        "<model>: error: input 'x' has no shape; give it one with --shape x=1x3x224x224"
    )
    import_onnx(model, new_context(), Sizes(shapes={"x": [4]}))
