"""A row of a matrix product that begins on zero, and finishes with sums, products and relu."""

from inarch.meaning import Apply, Element, Expression, Number
from inarch.microkernel import Instance, Microkernel, prototype


def _text(expression: Expression) -> str:
    """C of an expression at the point m, n."""
    match expression:
        case Number(value):
            return f"{value!r}f"
        case Element("C", _):
            return "sum"
        case Element(name, indices):
            terms = [f"{index[0].iterator} * {name}_{axis}" for axis, index in enumerate(indices)]
            return f"{name}[{' + '.join(terms) or '0'}]"
        case Apply("relu", (argument,)):
            return f"relu({_text(argument)})"
        case Apply(function, (left, right)):
            return f"({_text(left)} {'+' if function == 'add' else '*'} {_text(right)})"
        case _:
            raise ValueError(expression)


def _generate(instance: Instance) -> str:
    finish = "sum" if instance.finish is None else _text(instance.finish)
    start = "0.0f" if instance.init == "zero" else "C[m * C_0 + n * C_1]"
    return f"""
static float {instance.symbol}_relu(float x) {{ return x < 0.0f ? 0.0f : x; }}
#define relu {instance.symbol}_relu
static {prototype(instance)}
{{
    for (int64_t m = 0; m < {instance.params["MR"]}; m++)
        for (int64_t n = 0; n < N; n++) {{
            float sum = {start};
            for (int64_t k = 0; k < K; k++)
                sum += A[m * A_0 + k * A_1] * B[k * B_0 + n * B_1];
            C[m * C_0 + n * C_1] = {finish};
        }}
    (void){instance.symbol}_relu;
}}
#undef relu
"""


MICROKERNEL = Microkernel(
    computes="for m in MR, n in N, k in K: C[m, n] += A[m, k] * B[k, n]",
    dtypes={"A": "f32", "B": "f32", "C": "f32"},
    params={"MR": (1, 2, 4)},
    inits=("zero", "accumulate"),
    epilogue=("add", "mul", "relu"),
    generate=_generate,
    cost=100,
)
