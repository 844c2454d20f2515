"""LabelEncoder, of ai.onnx.ml: a table of numbers, looked up by binary search."""

from __future__ import annotations

from xdsl.ir import SSAValue

from inarch.core.errors import InarchError
from inarch.core.lazy import Array, np
from inarch.dialects.graph.op import shape_of
from inarch.frontends.onnx.node import Converter, Node
from inarch.frontends.report import NotSupportedError

_KINDS = ("int64s", "floats", "tensor")


def _label_encoder(node: Node) -> SSAValue:
    """`values[i]` where x equals `keys[i]`, else the default; a key that is NaN equals every NaN.

    keys: of the dtype of x; values: of that of the result, whose shape is that of x.
    """
    strings = ("keys_strings", "values_strings", "classes_strings")
    if any(node.has_attribute(name) for name in strings):
        raise NotSupportedError("labels that are strings; number them outside the model")
    keys, values = _table(node, "keys"), _table(node, "values")
    if len(keys) != len(values) or not len(keys):
        raise InarchError(f"expected as many keys as values, found {len(keys)} and {len(values)}")
    if keys.dtype != np.dtype(node.dtype().numpy):
        raise InarchError(f"expected keys of {node.dtype().numpy}, found {keys.dtype.name}")
    default = _default(node, values)
    is_nan = np.isnan(keys) if keys.dtype.kind == "f" else np.zeros(len(keys), np.bool_)
    order = np.argsort(keys[~is_nan], kind="stable")
    plain, sorted_values = keys[~is_nan][order], values[~is_nan][order]
    if (plain[1:] == plain[:-1]).any() or is_nan.sum() > 1:
        raise InarchError("expected different keys, found one twice")
    x = node.x()
    result = node.broadcast(node.constant(default), shape_of(x))
    if len(plain):
        result = _search(node, x, plain, sorted_values, result)
    if is_nan.any():
        nan_value = node.constant(values[is_nan].reshape(()))
        result = node.graph.select(node.graph.not_equal(x, x), nan_value, result)
    return result


def _search(node: Node, x: SSAValue, keys: Array, values: Array, default: SSAValue) -> SSAValue:
    """The value of the last key that is not above x, where it is x. Places beyond the end read the last."""
    table = node.constant(keys)
    place = node.broadcast(node.constant(np.array(0, np.int32)), shape_of(x))
    step = 1 << (len(keys) - 1).bit_length() >> 1
    while step:
        further = node.graph.add(place, node.constant(np.array(step, np.int32)))
        reached = node.graph.less_equal(node.graph.gather(table, further, axis=0), x)
        place = node.graph.select(reached, further, place)
        step >>= 1
    found = node.graph.equal(node.graph.gather(table, place, axis=0), x)
    value = node.graph.gather(node.constant(values), place, axis=0)
    return node.graph.select(found, value, default)


def _table(node: Node, name: str) -> Array:
    """The keys or the values, as a list."""
    given = [kind for kind in _KINDS if node.has_attribute(f"{name}_{kind}")]
    if len(given) != 1:
        raise InarchError(f"expected one list of {name}, found {', '.join(given) or 'none'}")
    full = f"{name}_{given[0]}"
    if given[0] == "tensor":
        return node.tensor(node.attributes[full]).reshape(-1)
    if given[0] == "floats":
        return np.array(node.floats(full), np.float32)
    return np.array(node.ints(full), np.int64)


def _default(node: Node, values: Array) -> Array:
    """What stands for no key: an attribute, else -1, or -0.0 of floats."""
    if node.has_attribute("default_tensor"):
        array = node.tensor(node.attributes["default_tensor"])
        if array.size != 1 or array.dtype != values.dtype:
            raise InarchError(
                f"expected default_tensor of one {values.dtype.name}, "
                f"found {array.dtype.name} of shape {array.shape}"
            )
        return array.reshape(())
    if values.dtype.kind == "f":
        return np.array(node.float("default_float", -0.0), values.dtype)
    return np.array(node.int("default_int64", -1), values.dtype)


CONVERTERS: dict[str, Converter] = {"ai.onnx.ml.LabelEncoder": _label_encoder}
