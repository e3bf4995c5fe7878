"""Operations that numba lowers to the few instructions they are: it types no function's body at each call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.typing.templates import signature as call_signature
from numba.extending import lower_builtin, type_callable

from sparkleene.kernels import wide
from sparkleene.kernels.jit import helper
from sparkleene.kernels.numbers import NULL_INT, add, mul, nonzero, null, times
from sparkleene.kernels.tuples import tuple_setitem

KNOWN = True  # what is here is known to numba

_COMPLEX, _FLOAT, _INT = types.Complex, types.Float, types.Integer


@helper
def _residue_times(a: int, x: int, p: int) -> int:
    return (a * np.uint64(x % np.int64(p))) % p  # type: ignore[return-value]


@helper
def _wide_times(a: complex, x: float) -> complex:
    return wide.multiply(a, wide.widen(x))  # type: ignore[no-any-return]


def _call(context: Any, builder: Any, function: Any, kinds: Any, values: Any) -> Any:
    """Call a helper."""
    called = context.typing_context.resolve_value_type(function)
    signature = called.get_call_type(context.typing_context, kinds, {})
    code = context.get_function(called, signature)
    context.add_linking_libs(code.libs)
    return code(builder, values)


@type_callable(add)
@type_callable(mul)
def _type_operation(context: Any) -> Any:
    return lambda a, b, p: a


@type_callable(times)
def _type_times(context: Any) -> Any:
    return lambda a, x, p: a


@type_callable(nonzero)
@type_callable(null)
def _type_test(context: Any) -> Any:
    return lambda a: types.boolean


@lower_builtin(add, _COMPLEX, _COMPLEX, _INT)
def _add_wide(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return _call(context, builder, wide.add, signature.args[:2], values[:2])


@lower_builtin(add, _FLOAT, _FLOAT, _INT)
def _add_doubles(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return builder.fadd(values[0], values[1])


@lower_builtin(add, _INT, _INT, _INT)
def _add_residues(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return builder.urem(builder.add(values[0], values[1]), values[2])


@lower_builtin(mul, _COMPLEX, _COMPLEX, _INT)
def _multiply_wide(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return _call(context, builder, wide.multiply, signature.args[:2], values[:2])


@lower_builtin(mul, _FLOAT, _FLOAT, _INT)
def _multiply_doubles(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return builder.fmul(values[0], values[1])


@lower_builtin(mul, _INT, _INT, _INT)
def _multiply_residues(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return builder.urem(builder.mul(values[0], values[1]), values[2])


@lower_builtin(times, _COMPLEX, _FLOAT, _INT)
def _times_wide(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return _call(context, builder, _wide_times, signature.args[:2], values[:2])


@lower_builtin(times, _FLOAT, _FLOAT, _INT)
def _times_doubles(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    a, x, _ = values
    nothing = builder.fcmp_ordered("==", a, a.type(0))
    return builder.select(nothing, a.type(0), builder.fmul(a, x))


@lower_builtin(times, _INT, _INT, _INT)
def _times_residues(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return _call(context, builder, _residue_times, signature.args, values)


@lower_builtin(nonzero, _COMPLEX)
def _nonzero_wide(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    real = context.make_complex(builder, signature.args[0], value=values[0]).real
    return builder.fcmp_unordered("!=", real, real.type(0))


@lower_builtin(nonzero, _FLOAT)
def _nonzero_double(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return builder.fcmp_unordered("!=", values[0], values[0].type(0))


@lower_builtin(nonzero, _INT)
def _nonzero_residue(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return builder.icmp_unsigned("!=", values[0], values[0].type(0))


@lower_builtin(null, _FLOAT)
def _null_double(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return builder.fcmp_unordered("uno", values[0], values[0])


@lower_builtin(null, _INT)
def _null_integer(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return builder.icmp_signed("==", values[0], values[0].type(NULL_INT))


@type_callable(tuple_setitem)
def _type_tuple_setitem(context: Any) -> Any:
    return lambda values, at, value: call_signature(values, values, at, values.dtype)


@lower_builtin(tuple_setitem, types.UniTuple, _INT, types.Any)
def _tuple_setitem(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    place = cgutils.alloca_once_value(builder, values[0])
    at = values[1]
    builder.store(values[2], builder.gep(place, [at.type(0), at], inbounds=True))
    return builder.load(place)
