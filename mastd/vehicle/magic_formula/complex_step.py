"""Functions of the Magic Formula's kernels, for float64 and for complex128 with an infinitesimal imaginary
part.

A complex number a + ih stands here for the value a and its derivative h along one variable: f(a + ih) =
f(a) + ih f'(a), without the terms of h². That is what a complex step (h ~ 1e-20) keeps of the complex
function; it costs little more than f alone and never meets a branch cut. Comparisons look at the real part.

For the type checker every number is a float.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Complex, Real
from typing import Any, Final, cast

# isort: off
# The compiler's wrapper comes first: it sets the cache directory before numba reads its configuration.
from mastd.kernel import fused_kernel
from numba import types
from numba.core.extending import overload
# isort: on

_OPTIONS: Final[Any] = {"error_model": "numpy", "fastmath": {"contract"}, "forceinline": True}

_TAN_22: Final = 0.41421356237309503
_TAN_67: Final = 2.414213562373095
_A0, _A1, _A2 = -0.3333333333333333, 0.199999999999955, -0.14285714284662268
_A3, _A4, _A5 = 0.11111111014911781, -0.0909090456410633, 0.07692182864948081
_A6, _A7, _A8 = -0.06664506854731402, 0.05858109000244419, -0.050852408062183066
_A9, _A10 = 0.03922562065996883, -0.019169491275012714

_Function = Callable[[Any], Any]


def _compiled(stub: _Function, real: _Function, infinitesimal: _Function) -> None:
    """Give the compiler the two forms of a function of one number."""

    def choose(x: Any) -> _Function | None:
        if isinstance(x, types.Complex):
            return infinitesimal
        return real if isinstance(x, types.Float) else None

    # The compiler compares the signatures word by word, annotations included.
    for function in (choose, real, infinitesimal):
        function.__annotations__ = {}
    overload(stub, jit_options=_OPTIONS)(choose)


def _uncompiled(x: Any, real: _Function, infinitesimal: _Function) -> float:
    """Return the form of a function that a number asks for, where kernels are plain functions."""
    form = infinitesimal if isinstance(x, Complex) and not isinstance(x, Real) else real
    return cast(float, form(x))


def arctan(x: float) -> float:
    """Return the arc tangent."""
    return _uncompiled(x, _chosen_arctan, _infinitesimal_arctan)


@fused_kernel
def real_arctan(x: float) -> float:
    """Return the arc tangent to 3e-16, faster than the system's function: a tyre takes twenty of them.

    The magnitude is brought below tan 22.5° by arctan a = 90° − arctan 1/a or 45° + arctan (a − 1)/(a + 1);
    the polynomial interpolates (arctan t / t − 1) / t² there at Chebyshev's places.
    """
    a = abs(x)
    above, below, rest = a, 1.0, 0.0
    if a > _TAN_67:
        above, below, rest = -1.0, a, 0.5 * math.pi
    elif a > _TAN_22:
        above, below, rest = a - 1.0, a + 1.0, 0.25 * math.pi
    t = above / below
    z = t * t
    z2 = z * z
    z4 = z2 * z2
    low = (_A0 + _A1 * z) + (_A2 + _A3 * z) * z2
    middle = (_A4 + _A5 * z) + (_A6 + _A7 * z) * z2
    high = (_A8 + _A9 * z) + _A10 * z2
    return math.copysign(rest + (t + t * z * (low + (middle + high * z4) * z4)), x)


def _infinitesimal_arctan(x: Any) -> Any:
    return complex(real_arctan(x.real), x.imag / (1.0 + x.real * x.real))


def _chosen_arctan(x: Any) -> Any:
    return real_arctan(x)


_compiled(arctan, _chosen_arctan, _infinitesimal_arctan)


def sine(x: float) -> float:
    """Return the sine."""
    return _uncompiled(x, _real_sine, _infinitesimal_sine)


def _real_sine(x: Any) -> Any:
    return math.sin(x)


def _infinitesimal_sine(x: Any) -> Any:
    return complex(math.sin(x.real), x.imag * math.cos(x.real))


_compiled(sine, _real_sine, _infinitesimal_sine)


def cosine(x: float) -> float:
    """Return the cosine."""
    return _uncompiled(x, _real_cosine, _infinitesimal_cosine)


def _real_cosine(x: Any) -> Any:
    return math.cos(x)


def _infinitesimal_cosine(x: Any) -> Any:
    return complex(math.cos(x.real), -x.imag * math.sin(x.real))


_compiled(cosine, _real_cosine, _infinitesimal_cosine)


def exponential(x: float) -> float:
    """Return e to the power of x."""
    return _uncompiled(x, _real_exponential, _infinitesimal_exponential)


def _real_exponential(x: Any) -> Any:
    return math.exp(x)


def _infinitesimal_exponential(x: Any) -> Any:
    value = math.exp(x.real)
    return complex(value, x.imag * value)


_compiled(exponential, _real_exponential, _infinitesimal_exponential)


def logarithm(x: float) -> float:
    """Return the natural logarithm of a number above zero."""
    return _uncompiled(x, _real_logarithm, _infinitesimal_logarithm)


def _real_logarithm(x: Any) -> Any:
    return math.log(x)


def _infinitesimal_logarithm(x: Any) -> Any:
    return complex(math.log(x.real), x.imag / x.real)


_compiled(logarithm, _real_logarithm, _infinitesimal_logarithm)


def root(x: float) -> float:
    """Return the square root of a number above zero."""
    return _uncompiled(x, _real_root, _infinitesimal_root)


def _real_root(x: Any) -> Any:
    return math.sqrt(x)


def _infinitesimal_root(x: Any) -> Any:
    value = math.sqrt(x.real)
    return complex(value, x.imag * (0.5 / value))


_compiled(root, _real_root, _infinitesimal_root)


def inverse(x: float) -> float:
    """Return 1 / x."""
    return _uncompiled(x, _real_inverse, _infinitesimal_inverse)


def _real_inverse(x: Any) -> Any:
    return 1.0 / x


def _infinitesimal_inverse(x: Any) -> Any:
    value = 1.0 / x.real
    return complex(value, -x.imag * (value * value))


_compiled(inverse, _real_inverse, _infinitesimal_inverse)


@fused_kernel
def at_most(x: float, limit: float) -> float:
    """Return the smaller of a number and a real limit; what is no number comes through."""
    return x * 0.0 + limit if x.real > limit else x


@fused_kernel
def at_least(x: float, limit: float) -> float:
    """Return the larger of a number and a real limit; what is no number comes through."""
    return x * 0.0 + limit if x.real < limit else x


@fused_kernel
def size(x: float) -> float:
    """Return the magnitude of a number by its real part."""
    return -x if x.real < 0.0 else x
