"""A number that counts what is done with it, for kernels that run as plain functions.

Each product, quotient, sum, root and transcendental function of such a number is one operation, whatever the
other number is: zeros of the structure and constants count like all others, since the compiled kernel
multiplies by them too. Comparisons, magnitudes and changes of sign cost nothing. What would lose the count, a
number's way through ``float``, raises TypeError.
"""

from __future__ import annotations

import math
from numbers import Complex
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mastd.index_table import index_table, size_of


class Operations(NamedTuple):
    """Numbers of operations; as an index table the places of each kind in ``tally``."""

    multiplications: int
    divisions: int
    additions: int
    """And subtractions."""
    roots: int
    """Square roots."""
    functions: int
    """Sines, cosines, exponentials and their like."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)

    def plus(self, other: Operations) -> Operations:
        """Return the sums."""
        return Operations(*(x + y for x, y in zip(self, other, strict=True)))


KIND: Final = index_table(Operations)

tally: Final = [0] * size_of(KIND)
"""Operations of this process so far."""

Number = (int, float, np.floating, np.integer)


def _quotient(x: float, y: float) -> float:
    """Return x / y as compiled kernels do: no error for a zero."""
    if y != 0.0:
        return x / y
    return math.nan if x == 0.0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1.0, y)


class Counted:
    """A float64 whose operations go into ``tally``."""

    __slots__ = ("value",)
    # Products with numpy's own numbers are left to this class.
    __array_priority__: ClassVar[float] = 1e3

    def __init__(self, value: float) -> None:
        self.value = float(value)

    def _done(self, kind: int, value: float) -> Counted:
        tally[kind] += 1
        return Counted(value)

    def __add__(self, other: Any) -> Any:
        y = _value(other)
        return NotImplemented if y is None else self._done(KIND.additions, self.value + y)

    def __sub__(self, other: Any) -> Any:
        y = _value(other)
        return NotImplemented if y is None else self._done(KIND.additions, self.value - y)

    def __rsub__(self, other: Any) -> Any:
        y = _value(other)
        return NotImplemented if y is None else self._done(KIND.additions, y - self.value)

    def __mul__(self, other: Any) -> Any:
        y = _value(other)
        return NotImplemented if y is None else self._done(KIND.multiplications, self.value * y)

    def __truediv__(self, other: Any) -> Any:
        y = _value(other)
        return NotImplemented if y is None else self._done(KIND.divisions, _quotient(self.value, y))

    def __rtruediv__(self, other: Any) -> Any:
        y = _value(other)
        return NotImplemented if y is None else self._done(KIND.divisions, _quotient(y, self.value))

    __radd__ = __add__
    __rmul__ = __mul__

    def __pow__(self, exponent: Any) -> Any:
        if exponent != 2:
            raise TypeError(f"power {exponent!r}: only squares are counted")
        return self * self

    def __neg__(self) -> Counted:
        return Counted(-self.value)

    def __abs__(self) -> Counted:
        return Counted(abs(self.value))

    def __lt__(self, other: Any) -> Any:
        y = _value(other)
        return NotImplemented if y is None else self.value < y

    def __le__(self, other: Any) -> Any:
        y = _value(other)
        return NotImplemented if y is None else self.value <= y

    def __gt__(self, other: Any) -> Any:
        y = _value(other)
        return NotImplemented if y is None else self.value > y

    def __ge__(self, other: Any) -> Any:
        y = _value(other)
        return NotImplemented if y is None else self.value >= y

    def __eq__(self, other: object) -> Any:
        y = _value(other)
        return NotImplemented if y is None else self.value == y

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return self.value != 0.0

    def __int__(self) -> int:
        return int(self.value)

    def __floor__(self) -> Counted:
        return Counted(math.floor(self.value))

    def __float__(self) -> float:
        raise TypeError("a counted number does not become a float: what follows would not be counted")

    def __repr__(self) -> str:
        return f"Counted({self.value!r})"

    @property
    def real(self) -> Counted:
        """The number itself."""
        return self

    # What numpy's functions ask of an object.

    def sqrt(self) -> Counted:
        """Return the square root."""
        return self._done(KIND.roots, math.sqrt(self.value) if self.value >= 0.0 else math.nan)

    def _function(self, name: str, *others: Any) -> Counted:
        values = (self.value, *(_value(other) for other in others))
        return self._done(KIND.functions, getattr(math, name)(*values))

    def sin(self) -> Counted:
        """Return the sine."""
        return self._function("sin")

    def cos(self) -> Counted:
        """Return the cosine."""
        return self._function("cos")

    def tan(self) -> Counted:
        """Return the tangent."""
        return self._function("tan")

    def arcsin(self) -> Counted:
        """Return the arc sine."""
        return self._function("asin")

    def arctan2(self, x: Any) -> Counted:
        """Return the arc tangent of this over x."""
        return self._function("atan2", x)

    def exp(self) -> Counted:
        """Return e to the power of it."""
        return self._function("exp")

    def log(self) -> Counted:
        """Return the natural logarithm."""
        return self._function("log")


def _value(x: Any) -> Any:
    if type(x) is Counted:
        return x.value
    return float(x) if isinstance(x, Number) else None


class CountedComplex:
    """A complex number of two counted parts; a float beside it becomes one, as in compiled kernels."""

    __slots__ = ("imag", "real")
    __array_priority__: ClassVar[float] = 2e3

    def __init__(self, real: Any, imag: Any) -> None:
        self.real = number(real)
        self.imag = number(imag)

    def __add__(self, other: Any) -> CountedComplex:
        y = _complex(other)
        return CountedComplex(self.real + y.real, self.imag + y.imag)

    def __sub__(self, other: Any) -> CountedComplex:
        y = _complex(other)
        return CountedComplex(self.real - y.real, self.imag - y.imag)

    def __rsub__(self, other: Any) -> CountedComplex:
        return _complex(other) - self

    def __mul__(self, other: Any) -> CountedComplex:
        y = _complex(other)
        return CountedComplex(
            self.real * y.real - self.imag * y.imag, self.real * y.imag + self.imag * y.real
        )

    def __truediv__(self, other: Any) -> CountedComplex:
        y = _complex(other)
        if abs(y.real) >= abs(y.imag):
            ratio = y.imag / y.real
            whole = y.real + y.imag * ratio
            return CountedComplex(
                (self.real + self.imag * ratio) / whole, (self.imag - self.real * ratio) / whole
            )
        ratio = y.real / y.imag
        whole = y.imag + y.real * ratio
        return CountedComplex(
            (self.real * ratio + self.imag) / whole, (self.imag * ratio - self.real) / whole
        )

    def __rtruediv__(self, other: Any) -> CountedComplex:
        return _complex(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> CountedComplex:
        return CountedComplex(-self.real, -self.imag)


Complex.register(CountedComplex)


def _complex(x: Any) -> CountedComplex:
    return x if isinstance(x, CountedComplex) else CountedComplex(x, 0.0)


def number(x: Any) -> Any:
    """Return a number as one that counts."""
    return x if isinstance(x, (Counted, CountedComplex)) else Counted(x)


class CountedArray(np.ndarray[Any, np.dtype[Any]]):
    """An array of counted numbers: what is written to it counts from then on."""

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(value) is not Counted:
            value = counting_array(value) if isinstance(value, np.ndarray) else number(value)
        super().__setitem__(key, value)


def counting_array(array: NDArray[Any]) -> CountedArray:
    """Return an array of floats as one of numbers that count."""
    found = np.empty(array.shape, dtype=object)
    found.ravel()[:] = [number(x) for x in array.ravel().tolist()]
    return found.view(CountedArray)


def counting(data: Any, known: dict[int, Any] | None = None) -> Any:
    """Return a number, an array or a (named) tuple of such with all floats as numbers that count.

    An array that occurs twice stays one; integers and whatever else there is stay as they are.
    """
    known = {} if known is None else known
    if isinstance(data, tuple):
        entries = [counting(entry, known) for entry in data]
        return type(data)(*entries) if hasattr(data, "_fields") else tuple(entries)
    if isinstance(data, np.ndarray) and data.dtype.kind == "f":
        # The array itself is kept beside its copy, so that no other one can have its identity.
        return known.setdefault(id(data), (counting_array(data), data))[0]
    if isinstance(data, (float, np.floating)):
        return Counted(float(data))
    return data


def plain(data: Any) -> Any:
    """Return a number, array or tuple with floats again."""
    if isinstance(data, tuple):
        entries = [plain(entry) for entry in data]
        return type(data)(*entries) if hasattr(data, "_fields") else tuple(entries)
    if isinstance(data, CountedArray):
        return np.array([x.value for x in data.ravel().tolist()]).reshape(data.shape)
    return data.value if isinstance(data, Counted) else data
