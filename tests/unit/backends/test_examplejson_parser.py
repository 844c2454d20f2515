"""What the ExampleJSON parser refuses, with line, column and message (T10); and that it is linear."""

from __future__ import annotations

import re

import pytest

from effort import effort
from inarch.core.errors import InarchError
from inarch.runtime.loaders.examplejson import load_from_bytes
from inarch.runtime.loaders.examplejson.graph import unparse
from inarch.runtime.loaders.examplejson.ops import OPS
from inarch.runtime.loaders.examplejson.parser import parse

HEAD = "subgraph_0\ninput 0 2 3\ninput 1 2 3\n"
NAMES = ", ".join(sorted(["input", "constant", *OPS]))
DTYPES = "f32, f64, i1, i16, i32, i64, i8, ui16, ui32, ui64, ui8"


def line_of(text: str) -> str:
    with pytest.raises(InarchError) as caught:
        parse(text, "t")
    return caught.value.line()


@pytest.mark.every_case(reason="each is a message of its own")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Headers
        ("", "1:1: error: expected 'subgraph_<n>', found an empty file"),
        ("\n \t\r\n", "1:1: error: expected 'subgraph_<n>', found an empty file"),
        (
            "\n  input 0 2\n",
            "2:3: error: expected a header 'subgraph_<n>' before the first node, found 'input'",
        ),
        (
            "json_rt_0\n",
            "1:1: error: expected a header 'subgraph_<n>' before the first node, found 'json_rt_0'",
        ),
        (
            "subgraph_x\n",
            "1:1: error: expected 'subgraph_<n>' with a number below 10**9, found 'subgraph_x'",
        ),
        (
            "subgraph_01\n",
            "1:1: error: expected 'subgraph_<n>' with a number below 10**9, found 'subgraph_01'",
        ),
        (
            "subgraph_0 10\n",
            "1:12: error: expected 'name:' or the end of the line, found '10'",
        ),
        ("subgraph_0 name:\n", "1:17: error: expected a name, found the end of the line"),
        (
            "subgraph_0 name: a/b\n",
            "1:18: error: expected a name of letters, digits and '_$.-', found 'a/b'",
        ),
        (
            "subgraph_0 name: a b\n",
            "1:20: error: expected the end of the line, found 'b'",
        ),
        (
            f"{HEAD}outputs: 0\nsubgraph_0\n",
            "5:1: error: 'subgraph_0' is defined already, at line 1",
        ),
        (
            "subgraph_0 name: subgraph_1\ninput 0\noutputs: 0\nsubgraph_1\n",
            "4:1: error: 'subgraph_1' is defined already, at line 1",
        ),
        (
            f"{HEAD}outputs: 0\nsubgraph_7 name: examplejson_0\n",
            "5:18: error: 'examplejson_0' is defined already, at line 1",
        ),
        # Empty graphs
        ("subgraph_0\n", "1:1: error: expected nodes in subgraph_0, found an empty graph"),
        (
            "subgraph_1\nsubgraph_2\ninput 0\noutputs: 0",
            "1:1: error: expected nodes in subgraph_1, found an empty graph",
        ),
        (
            HEAD,
            "1:1: error: expected an op at the end of subgraph_0, found input 1: nothing is "
            "computed; an 'outputs:' line can name an input",
        ),
        # Ops
        (
            f"{HEAD}ad 2 inputs: 0 1 shape: 2 3",
            f"4:1: error: no op 'ad'; did you mean 'add'? Known: {NAMES}",
        ),
        (
            f"{HEAD}quux 2 inputs: 0 1 shape: 2 3",
            f"4:1: error: no op 'quux'. Known: {NAMES}",
        ),
        (
            f"{HEAD}add 2 inputs: 0 shape: 2 3",
            "4:1: error: expected 2 inputs of 'add', found 1",
        ),
        (
            f"{HEAD}concat 2 inputs: shape: 2 3 attrs: axis=0",
            "4:1: error: expected 1 or more inputs of 'concat', found 0",
        ),
        (
            f"{HEAD}relu 2 inputs: 0 1 shape: 2 3",
            "4:1: error: expected 1 input of 'relu', found 2",
        ),
        # Ids
        ("subgraph_0\ninput\n", "2:6: error: expected an id, found the end of the line"),
        ("subgraph_0\ninput x\n", "2:7: error: expected an id, found 'x'"),
        ("subgraph_0\ninput -1 2\n", "2:7: error: expected an id >= 0, found '-1'"),
        (
            "subgraph_0\ninput 1 2\n",
            "2:7: error: expected the next id, 0, found 1: ids are dense",
        ),
        (
            f"{HEAD}add 1 inputs: 0 1 shape: 2 3",
            "4:5: error: expected the next id, 2, found the duplicate 1",
        ),
        (
            f"{HEAD}add 2 inputs: 0 7 shape: 2 3",
            "4:17: error: expected the id of an earlier node (0 to 1), found the undefined id 7",
        ),
        (
            f"{HEAD}add 2 inputs: 0 3 shape: 2 3\nadd 3 inputs: 0 1 shape: 2 3",
            "4:17: error: expected the id of an earlier node (0 to 1), found the undefined id 3",
        ),
        (
            f"{HEAD}add 2 inputs: 0 2 shape: 2 3",
            "4:17: error: expected the id of an earlier node (0 to 1), found the undefined id 2",
        ),
        (
            "subgraph_0\nrelu 0 inputs: 0 shape: 2",
            "2:16: error: expected the id of an earlier node (none), found the undefined id 0",
        ),
        # Shapes
        (
            f"{HEAD}add 2 inputs: 0 1 shape: 2 4",
            "4:26: error: expected f32[2, 3], which 'add' of f32[2, 3], f32[2, 3] gives, "
            "found f32[2, 4]",
        ),
        (
            f"{HEAD}add 2 inputs: 0 1 shape:",
            "4:1: error: expected f32[2, 3], which 'add' of f32[2, 3], f32[2, 3] gives, "
            "found f32[]",
        ),
        (
            f"{HEAD}add 2 inputs: 0 1 shape: 2 3 dtype: f64",
            "4:26: error: expected f32[2, 3], which 'add' of f32[2, 3], f32[2, 3] gives, "
            "found f64[2, 3]",
        ),
        (
            f"{HEAD}input 2 4\nadd 3 inputs: 0 2 shape: 2 3",
            "5:1: error: 'add' of f32[2, 3], f32[4]: the shapes do not broadcast",
        ),
        (
            f"{HEAD}input 2 3 dtype: f64\nadd 3 inputs: 0 2 shape: 2 3",
            "5:1: error: 'add' of f32[2, 3], f64[3]: the dtypes differ",
        ),
        (
            f"{HEAD}matmul 2 inputs: 0 1 shape: 2 3",
            "4:1: error: 'matmul' of f32[2, 3], f32[2, 3]: the first has 3 columns, the second 2 rows",
        ),
        (
            f"{HEAD}reshape 2 inputs: 0 shape: 4",
            "4:1: error: 'reshape' of f32[2, 3]: 6 elements do not make 4",
        ),
        ("subgraph_0\ninput 0 2 -3\n", "2:11: error: expected a dimension >= 0, found '-3'"),
        (
            "subgraph_0\ninput 0 9999999999999999999999\n",
            "2:9: error: expected a dimension below 2**62, found '9999999999999999999999'",
        ),
        (
            "subgraph_0\ninput 0 4611686018427387904\n",
            "2:9: error: expected a dimension below 2**62, found '4611686018427387904'",
        ),
        (
            "subgraph_0\ninput 0 0 2147483648 2147483648\n",
            "2:9: error: expected a tensor of less than 2**62 bytes, "
            "found f32[0, 2147483648, 2147483648]",
        ),
        (
            f"subgraph_0\ninput 0{' 1' * 33}\n",
            "2:73: error: expected at most 32 dimensions, found 33",
        ),
        # What is missing, and what is too much
        (
            f"{HEAD}add 2 shape: 2 3",
            "4:7: error: expected 'inputs:', found 'shape:'",
        ),
        (f"{HEAD}add 2", "4:6: error: expected 'inputs:', found the end of the line"),
        (
            f"{HEAD}add 2 inputs: 0 1",
            "4:18: error: expected 'shape:', found the end of the line",
        ),
        (
            f"{HEAD}add 2 inputs: 0 1 2 3 ",
            "4:22: error: expected 'shape:', found the end of the line",
        ),
        (
            f"{HEAD}add 2 inputs: 0 1 shape: 2 3 junk",
            "4:30: error: expected a dimension, 'dtype:', 'attrs:' or the end of the line, "
            "found 'junk'",
        ),
        (
            f"{HEAD}add 2 inputs: 0 1 shape: 2 3 dtype: f32 junk",
            "4:41: error: expected 'attrs:' or the end of the line, found 'junk'",
        ),
        (
            "subgraph_0\ninput 0 2 x\n",
            "2:11: error: expected a dimension, 'dtype:' or the end of the line, found 'x'",
        ),
        (
            "subgraph_0\ninput 0 dtype: f16\n",
            f"2:16: error: no dtype 'f16'; did you mean 'i16'? Known: {DTYPES}",
        ),
        (
            "subgraph_0\ninput 0 dtype: f32 2\n",
            "2:20: error: expected the end of the line, found '2'",
        ),
        (
            f"{HEAD}add 2 inputs: 0 1 inputs: shape: 2 3",
            "4:19: error: expected an id, found 'inputs:'",
        ),
        # Attributes
        (
            f"{HEAD}softmax 2 inputs: 0 shape: 2 3",
            "4:1: error: expected the attribute 'axis' of 'softmax', found none",
        ),
        (
            f"{HEAD}softmax 2 inputs: 0 shape: 2 3 attrs:",
            "4:38: error: expected <name>=<value>, found the end of the line",
        ),
        (
            f"{HEAD}softmax 2 inputs: 0 shape: 2 3 attrs: 1",
            "4:39: error: expected <name>=<value>, found '1'",
        ),
        (
            f"{HEAD}softmax 2 inputs: 0 shape: 2 3 attrs: axes=1",
            "4:39: error: no attribute 'axes' in 'softmax'; did you mean 'axis'? Known: axis",
        ),
        (
            f"{HEAD}add 2 inputs: 0 1 shape: 2 3 attrs: axis=1",
            "4:37: error: no attribute 'axis' in 'add'. Known: none",
        ),
        (
            f"{HEAD}softmax 2 inputs: 0 shape: 2 3 attrs: axis=1 axis=1",
            "4:46: error: attribute 'axis' is given twice",
        ),
        (
            f"{HEAD}softmax 2 inputs: 0 shape: 2 3 attrs: axis=1.0",
            "4:39: error: expected axis=<integer>, found '1.0'",
        ),
        (
            f"{HEAD}softmax 2 inputs: 0 shape: 2 3 attrs: axis=2",
            "4:1: error: 'softmax' of f32[2, 3]: axis 2 is outside of rank 2",
        ),
        (
            f"{HEAD}transpose 2 inputs: 0 shape: 3 2 attrs: perm=1,,0",
            "4:41: error: expected perm=<integer>,<integer>..., found '1,,0'",
        ),
        (
            f"{HEAD}transpose 2 inputs: 0 shape: 3 2 attrs: perm=1,1",
            "4:1: error: 'transpose' of f32[2, 3]: perm has to be a permutation of 2 axes",
        ),
        (
            f"{HEAD}reduce_sum 2 inputs: 0 shape: 3 attrs: axes=0 keepdims=1",
            "4:47: error: expected keepdims=true or false, found '1'",
        ),
        (
            f"{HEAD}clip 2 inputs: 0 shape: 2 3 attrs: low=1_0",
            "4:36: error: expected low=<number>, found '1_0'",
        ),
        (
            f"{HEAD}clip 2 inputs: 0 shape: 2 3 attrs: low=nan",
            "4:1: error: 'clip' of f32[2, 3]: low is no value of the dtype",
        ),
        (
            f"{HEAD}slice 2 inputs: 0 shape: 1 3 attrs: starts=2,0 steps=1,1",
            "4:1: error: 'slice' of f32[2, 3]: elements 2 to 2 of axis 0 are outside",
        ),
        # Constants
        (
            "subgraph_0\nconstant 0 2 data: 1 2",
            "2:12: error: expected 'shape:', found '2'",
        ),
        (
            "subgraph_0\nconstant 0 shape: 2",
            "2:20: error: expected 'data:' or 'base64:', found the end of the line",
        ),
        (
            "subgraph_0\nconstant 0 shape: 2 dtype: i8 2",
            "2:31: error: expected 'data:' or 'base64:', found '2'",
        ),
        (
            "subgraph_0\nconstant 0 shape: 2 data: 1",
            "2:21: error: expected 2 numbers, the elements of f32[2], found 1",
        ),
        (
            "subgraph_0\nconstant 0 shape: 2 data: 1 one",
            "2:29: error: expected a number of f32, found 'one'",
        ),
        (
            "subgraph_0\nconstant 0 shape: 1 data: 1e39",
            "2:27: error: expected a number of f32, found '1e39'",
        ),
        (
            "subgraph_0\nconstant 0 shape: 1 data: 0x1p9999",
            "2:27: error: expected a number of f32, found '0x1p9999'",
        ),
        (
            "subgraph_0\nconstant 0 shape: 1 dtype: i8 data: 128",
            "2:37: error: expected a number of i8, found '128'",
        ),
        (
            "subgraph_0\nconstant 0 shape: 1 dtype: i1 data: 2",
            "2:37: error: expected a number of i1, found '2'",
        ),
        (
            "subgraph_0\nconstant 0 shape: 1 base64: AACAPw= =",
            "2:37: error: expected the end of the line, found '='",
        ),
        (
            "subgraph_0\nconstant 0 shape: 1 base64: AACA",
            "2:21: error: expected 4 bytes, the elements of f32[1], found 3",
        ),
        (
            "subgraph_0\nconstant 0 shape: 3 dtype: i1 base64: AAEC",
            "2:31: error: expected bytes 0 and 1, the elements of bools, found others",
        ),
        # Outputs
        (f"{HEAD}outputs:", "4:9: error: expected an id, found the end of the line"),
        (
            f"{HEAD}outputs: 2",
            "4:10: error: expected the id of an earlier node (0 to 1), found the undefined id 2",
        ),
        ("subgraph_0\noutputs: 0", "2:1: error: expected nodes before the line 'outputs:', found none"),
        (
            f"{HEAD}outputs: 1\nadd 2 inputs: 0 1 shape: 2 3",
            "5:1: error: expected the next 'subgraph_<n>' after the line 'outputs:', found 'add'",
        ),
        # Characters
        ("subgraph_0\n input 0 \u0663", "2:10: error: expected printable ASCII, found the character U+0663"),
        ("\ufeffsubgraph_0", "1:1: error: expected printable ASCII, found the character U+FEFF"),
        ("sub\0graph_0", "1:4: error: expected printable ASCII, found the character U+0000"),
        ("subgraph_0\rinput 0", "1:11: error: expected printable ASCII, found the character U+000D"),
        ("subgraph_0\r\r\n", "1:11: error: expected printable ASCII, found the character U+000D"),
        ("subgraph_0\n\ud800", "2:1: error: expected printable ASCII, found the character U+D800"),
        (
            f"{HEAD}{'x' * 50}",
            f"4:1: error: no op '{'x' * 40}'. Known: {NAMES}",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, expected: str) -> None:
    """T10: the whole line, with line and column."""
    assert line_of(text) == f"t:{expected}"


def test_outputs_are_named_once() -> None:
    assert line_of(f"{HEAD}outputs: 0\noutputs: 0") == (
        "t:5:1: error: expected the next 'subgraph_<n>' after the line 'outputs:', found 'outputs:'"
    )


def test_base64_that_is_none() -> None:
    """T10: Python words the reason."""
    line = line_of("subgraph_0\nconstant 0 shape: 1 base64: A*==")
    assert line.startswith("t:2:29: error: expected base64 text, found 'A*==': ")


def test_bytes_that_are_no_text() -> None:
    """T10: located like the rest."""
    with pytest.raises(InarchError) as caught:
        load_from_bytes(b"subgraph_0\n  input 0\xff\n", "t")
    assert caught.value.line() == "t:2:10: error: expected printable ASCII, found the byte 0xFF"


@pytest.mark.parametrize(
    ("line", "canonical"),
    [
        ("constant 0 shape: data: 0x1p-1", "data: 0.5"),
        ("constant 0 shape: data: -inf", "data: -inf"),
        ("constant 0 shape: 2 dtype: i1 data: 0 1", "data: 0 1"),
        (
            "constant 0 shape: 2 dtype: ui64 data: 0 18446744073709551615",
            "data: 0 1844674407370955",
        ),
        ("constant 0 shape: dtype: f64 data: 1e-5", "data: 1e-05"),
        ("constant 0 shape: data: nan", "base64: AADAfw=="),
        ("constant 0 shape: 0 3 data:", "data:"),
        (f"constant 0 shape: 17 dtype: i8 data:{' 1' * 17}", "base64: AQEBAQEBAQEBAQEBAQEBAQE="),
    ],
)
def test_constants_have_one_spelling(line: str, canonical: str) -> None:
    """T9: exact: reading the canonical spelling gives the same bytes."""
    graphs = parse(f"subgraph_0\n{line}\n", "t")
    text = unparse(graphs)
    assert f" {canonical}" in text
    assert parse(text, "t") == graphs


@pytest.mark.slow
def test_reading_is_linear() -> None:
    """T10: a megabyte of lines, and of words in one line: what is quadratic would take minutes."""
    count = 20_000
    chain = "".join(f"add {i} inputs: {i - 1} {i - 1} shape: 4\n" for i in range(1, count))
    (graph,) = parse(f"subgraph_0\ninput 0 4\n{chain}", "t")
    assert len(graph.nodes) == count
    (graph,) = parse(
        f"subgraph_0\ninput 0 1\nconcat 1 inputs:{' 0' * 100_000} shape: 100000 attrs: axis=0", "t"
    )
    assert graph.nodes[1].type.shape == (100_000,)
    subgraphs = "".join(f"subgraph_{i}\ninput 0\noutputs: 0\n" for i in range(count))
    assert len(parse(subgraphs, "t")) == count


@pytest.mark.parametrize("word", ["9", "-9", "x", "axis=", "subgraph_9", "input", "1,", "AAAA"])
def test_long_words_are_refused_at_once(word: str) -> None:
    """T10: no conversion of digits without end, and no message of that length."""
    long = word * (effort(200_000, 1_000_000) // len(word))
    for text in (
        long,
        f"subgraph_0 name: {long}",
        f"subgraph_0\n{long} 0",
        f"subgraph_0\ninput {long}",
        f"subgraph_0\ninput 0 {long}",
        f"subgraph_0\ninput 0 dtype: {long}",
        f"{HEAD}softmax 2 inputs: 0 shape: 2 3 attrs: axis={long}",
        f"{HEAD}softmax 2 inputs: 0 shape: 2 3 attrs: {long}=1",
        f"{HEAD}transpose 2 inputs: 0 shape: 2 3 attrs: perm={long}",
        f"{HEAD}clip 2 inputs: 0 shape: 2 3 attrs: low={long}",
        f"subgraph_0\nconstant 0 shape: data: {long}",
        f"subgraph_0\nconstant 0 shape: base64: {long}",
    ):
        line = line_of(text)
        assert re.match(r"t:[1-4]:\d+: error: ", line)
        assert len(line) < 1000
