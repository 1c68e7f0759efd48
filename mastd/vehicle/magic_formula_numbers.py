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
from typing import Any, Final

# isort: off
# The compiler's wrapper comes first: it sets the cache directory before numba reads its configuration.
from mastd.kernel import fused_kernel
from numba import types
from numba.core.extending import overload
# isort: on

_OPTIONS: Final = {"error_model": "numpy", "fastmath": {"contract"}, "forceinline": True}

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


def arctan(x: float) -> float:
    """Return the arc tangent."""
    raise NotImplementedError("compiled code only")


def _real_arctan(x: Any) -> Any:
    return math.atan(x)


def _infinitesimal_arctan(x: Any) -> Any:
    return complex(math.atan(x.real), x.imag / (1.0 + x.real * x.real))


_compiled(arctan, _real_arctan, _infinitesimal_arctan)


def sine(x: float) -> float:
    """Return the sine."""
    raise NotImplementedError("compiled code only")


def _real_sine(x: Any) -> Any:
    return math.sin(x)


def _infinitesimal_sine(x: Any) -> Any:
    return complex(math.sin(x.real), x.imag * math.cos(x.real))


_compiled(sine, _real_sine, _infinitesimal_sine)


def cosine(x: float) -> float:
    """Return the cosine."""
    raise NotImplementedError("compiled code only")


def _real_cosine(x: Any) -> Any:
    return math.cos(x)


def _infinitesimal_cosine(x: Any) -> Any:
    return complex(math.cos(x.real), -x.imag * math.sin(x.real))


_compiled(cosine, _real_cosine, _infinitesimal_cosine)


def exponential(x: float) -> float:
    """Return e to the power of x."""
    raise NotImplementedError("compiled code only")


def _real_exponential(x: Any) -> Any:
    return math.exp(x)


def _infinitesimal_exponential(x: Any) -> Any:
    value = math.exp(x.real)
    return complex(value, x.imag * value)


_compiled(exponential, _real_exponential, _infinitesimal_exponential)


def logarithm(x: float) -> float:
    """Return the natural logarithm of a number above zero."""
    raise NotImplementedError("compiled code only")


def _real_logarithm(x: Any) -> Any:
    return math.log(x)


def _infinitesimal_logarithm(x: Any) -> Any:
    return complex(math.log(x.real), x.imag / x.real)


_compiled(logarithm, _real_logarithm, _infinitesimal_logarithm)


def root(x: float) -> float:
    """Return the square root of a number above zero."""
    raise NotImplementedError("compiled code only")


def _real_root(x: Any) -> Any:
    return math.sqrt(x)


def _infinitesimal_root(x: Any) -> Any:
    value = math.sqrt(x.real)
    return complex(value, x.imag * (0.5 / value))


_compiled(root, _real_root, _infinitesimal_root)


def inverse(x: float) -> float:
    """Return 1 / x."""
    raise NotImplementedError("compiled code only")


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
