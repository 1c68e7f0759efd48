"""Four lanes at a time, for the compiler: a type of its own, and the machine's vector instructions.

See ``mastd.lanes`` for what each function means.
"""

from __future__ import annotations

import operator
from typing import Any, Final

# isort: off
# The compiler's wrapper comes first: it sets the cache directory before numba reads its configuration.
from mastd.kernel import fused_kernel as _fused_kernel  # noqa: F401
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic, lower_builtin, models, register_model
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
# isort: on

LANES: Final = 4
"""Numbers in one value: 256 bits of float64."""

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INT32 = ir.IntType(32)
_FUSED = ("contract",)


class _LanesType(types.Type):
    """numba's type of a value of four lanes."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


_lanes = _LanesType()


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, _VECTOR)


def _spread(builder: Any, scalar: Any) -> Any:
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    vector = builder.insert_element(undefined, scalar, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(vector, undefined, ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES))


def _lift(builder: Any, kind: Any, value: Any) -> Any:
    return value if isinstance(kind, _LanesType) else _spread(builder, value)


def _arithmetic(operation: object, in_place: object, instruction: str) -> None:
    pairs = ((_lanes, _lanes), (_lanes, types.float64), (types.float64, _lanes))

    class Template(ConcreteTemplate):
        cases = tuple(signature(_lanes, *pair) for pair in pairs)

    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        left, right = (_lift(builder, kind, value) for kind, value in zip(sig.args, arguments, strict=True))
        return getattr(builder, instruction)(left, right, flags=_FUSED)

    for name in (operation, in_place):
        infer_global(name)(Template)
        for pair in pairs:
            lower_builtin(name, *pair)(lower)


_arithmetic(operator.add, operator.iadd, "fadd")
_arithmetic(operator.sub, operator.isub, "fsub")
_arithmetic(operator.mul, operator.imul, "fmul")
_arithmetic(operator.truediv, operator.itruediv, "fdiv")


@infer_global(operator.neg)
class _Negation(ConcreteTemplate):
    cases = (signature(_lanes, _lanes),)


@lower_builtin(operator.neg, _lanes)
def _lower_negation(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    return builder.fsub(_spread(builder, ir.Constant(ir.DoubleType(), -0.0)), arguments[0])


def _address(context: Any, builder: Any, kind: Any, array: Any, indices: list[Any]) -> Any:
    view = context.make_array(kind)(context, builder, array)
    full = [*indices, ir.Constant(ir.IntType(64), 0)]
    pointer = cgutils.get_item_pointer(context, builder, kind, view, full, wraparound=False)
    return builder.bitcast(pointer, _VECTOR.as_pointer())


@intrinsic
def load(typing: Any, array: Any, i: Any, j: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.load(
            _address(context, builder, sig.args[0], arguments[0], list(arguments[1:])), align=8
        )

    return _lanes(array, types.intp, types.intp), generate


@intrinsic
def load_single(typing: Any, array: Any, i: Any, j: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        address = _address(context, builder, sig.args[0], arguments[0], list(arguments[1:]))
        single = ir.VectorType(ir.FloatType(), LANES)
        value = builder.load(builder.bitcast(address, single.as_pointer()), align=4)
        return builder.fpext(value, _VECTOR)

    return _lanes(array, types.intp, types.intp), generate


@intrinsic
def load_row(typing: Any, array: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, sig.args[0], arguments[0], [arguments[1]]), align=8)

    return _lanes(array, types.intp), generate


@intrinsic
def store(typing: Any, array: Any, i: Any, j: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, sig.args[0], arguments[0], list(arguments[1:3]))
        builder.store(arguments[3], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, _lanes), generate


@intrinsic
def store_row(typing: Any, array: Any, i: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        pointer = _address(context, builder, sig.args[0], arguments[0], [arguments[1]])
        builder.store(arguments[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _lanes), generate


@intrinsic
def broadcast(typing: Any, scalar: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _spread(builder, arguments[0])

    return _lanes(types.float64), generate


@intrinsic
def sqrt(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f64")
        return builder.call(function, arguments)

    return _lanes(_lanes), generate


@intrinsic
def hsum(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        parts = [builder.extract_element(arguments[0], ir.Constant(_INT32, k)) for k in range(LANES)]
        return builder.fadd(builder.fadd(parts[0], parts[1]), builder.fadd(parts[2], parts[3]))

    return types.float64(_lanes), generate


@intrinsic
def hmax(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        found = builder.extract_element(arguments[0], ir.Constant(_INT32, 0))
        for k in range(1, LANES):
            other = builder.extract_element(arguments[0], ir.Constant(_INT32, k))
            # Unordered: an other that is not a number is taken, and one that was taken stays.
            takes = builder.and_(
                builder.fcmp_unordered(">", other, found), builder.fcmp_ordered("ord", found, found)
            )
            found = builder.select(takes, other, found)
        return found

    return types.float64(_lanes), generate


@intrinsic
def first_lane(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.extract_element(arguments[0], ir.Constant(_INT32, 0))

    return types.float64(_lanes), generate


@intrinsic
def select(typing: Any, condition: Any, positive: Any, otherwise: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        zero = _spread(builder, ir.Constant(ir.DoubleType(), 0.0))
        chosen = builder.fcmp_ordered(">", arguments[0], zero)
        return builder.select(chosen, arguments[1], arguments[2])

    return _lanes(_lanes, _lanes, _lanes), generate
