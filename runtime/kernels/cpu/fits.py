"""Makes the coefficients in this folder's special functions: ``python runtime/kernels/cpu/fits.py [NAME ...]``.

Prints the tables whose names begin so, as the sources have them; ``--check`` says instead which the sources do not
have. It needs mpmath.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
from mpmath import mpf

Function = Callable[[Any], Any]
SINGLE, DOUBLE = mpf(2) ** -28, mpf(2) ** -57  # what a fit's error is below, of what the function is made of


def interpolated(function: Function, least: Any, most: Any, count: int) -> list[Any]:
    """The polynomial through as many Chebyshev nodes, the coefficient of the highest power first."""
    middle, half = (mpf(least) + most) / 2, (mpf(most) - least) / 2
    nodes = [middle + half * mpmath.cos((2 * k + 1) * mpmath.pi / (2 * count)) for k in range(count)]
    powers = mpmath.matrix(count, count)
    for i, node in enumerate(nodes):
        for j in range(count):
            powers[i, j] = node ** (count - 1 - j)
    return list(mpmath.lu_solve(powers, mpmath.matrix([function(node) for node in nodes])))


def fitted(function: Function, least: Any, most: Any, error: Any, weight: Function) -> list[Any]:
    """The shortest such polynomial whose error, times the weight at its place, is below the one given."""
    points = [mpf(least) + (mpf(most) - least) * (k + mpf(1) / 3) / 90 for k in range(90)]
    exact = [(point, function(point), weight(point)) for point in points]
    for count in range(4, 40):
        found = interpolated(function, least, most, count)
        if max(abs((mpmath.polyval(found, at) - value) * by) for at, value, by in exact) < error:
            return found
    raise ArithmeticError("no polynomial is near enough")


# ---------------------------------------------------------------- the functions, by the names of tables
def _i_near(order: int) -> tuple[Function, Function]:
    """Of y = x^2 / 4: (I0 - 1) / y, and I1 / x."""
    if order == 0:
        return (
            lambda y: (mpmath.besseli(0, 2 * mpmath.sqrt(y)) - 1) / y,
            lambda y: y / mpmath.besseli(0, 2 * mpmath.sqrt(y)),
        )

    def of_x(y: Any) -> Any:
        return mpmath.besseli(1, 2 * mpmath.sqrt(y)) / mpmath.sqrt(y) / 2

    return of_x, lambda y: 1 / of_x(y)


def _i_far(order: int) -> Function:
    return lambda s: (lambda x: mpmath.sqrt(x) * mpmath.exp(-x) * mpmath.besseli(order, x))(16 / (s + 1))


def _k_near(order: int) -> Function:
    """Of y = x^2 / 4: K0 + ln(x / 2) I0, and (K1 - ln(x / 2) I1 - 1 / x) / x."""

    def rest(y: Any) -> Any:
        x = 2 * mpmath.sqrt(y)
        part = mpmath.log(x / 2) * mpmath.besseli(order, x)
        return mpmath.besselk(0, x) + part if order == 0 else (mpmath.besselk(1, x) - part - 1 / x) / x

    return rest


def _k_far(order: int) -> Function:
    return lambda s: (lambda x: mpmath.sqrt(x) * mpmath.exp(x) * mpmath.besselk(order, x))(4 / (s + 1))


def _zeros(order: int) -> Any:
    """The zeros below 8 of J, but 0."""
    return [mpmath.besseljzero(order, k) for k in (1, 2)]


def _j_near(order: int) -> Function:
    """Of t = x^2 / 32 - 1: J by its zeros below 8, and J1 by x too."""

    def rest(t: Any) -> Any:
        y = 32 * (t + 1)
        x = mpmath.sqrt(y)
        first, second = _zeros(order)
        return mpmath.besselj(order, x) / ((y - first**2) * (y - second**2) * (x if order else 1))

    return rest


def _y_near(order: int) -> Function:
    """Of t = x^2 / 32 - 1: Y0 - 2 / pi ln x J0, and (Y1 - 2 / pi (ln x J1 - 1 / x)) / x."""

    def rest(t: Any) -> Any:
        x = mpmath.sqrt(32 * (t + 1))
        part = mpmath.log(x) * mpmath.besselj(order, x)
        if order == 0:
            return mpmath.bessely(0, x) - 2 / mpmath.pi * part
        return (mpmath.bessely(1, x) - 2 / mpmath.pi * (part - 1 / x)) / x

    return rest


def _hankel(order: int, odd: bool) -> Function:
    """Of z = (8 / x)^2: P and x Q of sqrt(pi x / 2) (J + i Y) = (P + i Q) e^(i (x - pi/4 - order pi/2))."""

    def part(z: Any) -> Any:
        x = 8 / mpmath.sqrt(z)
        turned = mpmath.mpc(mpmath.besselj(order, x), mpmath.bessely(order, x))
        turned *= mpmath.sqrt(mpmath.pi * x / 2) * mpmath.expj(-(x - (2 * order + 1) * mpmath.pi / 4))
        return turned.imag * x if odd else turned.real

    return part


def fits() -> Iterator[tuple[str, Callable[[Any], list[Any]]]]:
    """The name of each and what makes it for an error."""
    for order in (0, 1):
        near, by = _i_near(order)
        far, k_near, k_far = _i_far(order), _k_near(order), _k_far(order)
        yield f"I{order}.kNear", lambda error, f=near, by=by: fitted(f, 0, 16, error, by)
        yield f"I{order}.kFar", lambda error, f=far: fitted(f, -1, 1, error, lambda s, f=f: 1 / f(s))
        yield f"K{order}.kOfLog", lambda error, f=near, by=by: fitted(f, 0, 1, error, by)
        yield f"K{order}.kNear", lambda error, f=k_near: fitted(f, 0, 1, error, lambda y: 4)
        yield f"K{order}.kFar", lambda error, f=k_far: fitted(f, -1, 1, error, lambda s, f=f: 1 / f(s))
        j_near, y_near = _j_near(order), _y_near(order)
        yield f"J{order}.kNear", lambda error, f=j_near: fitted(f, -1, 1, error, lambda t, f=f: 1 / f(t))
        yield f"J{order}.kOfLog", lambda error, f=y_near, order=order: fitted(f, -1, 1, error, lambda t: 8**order)
        for name, odd in (("kEven", False), ("kOdd", True)):
            part = _hankel(order, odd)
            yield f"J{order}.{name}", lambda error, f=part: fitted(f, 0, 1, error, lambda z: 1)
    yield (
        "kReciprocal",  # (1 / gamma(1 + a) - 1) / a
        lambda error: fitted(lambda a: (mpmath.rgamma(1 + a) - 1) / a, 0, 1, error, lambda a: 1),
    )


# ---------------------------------------------------------------- Temme's expansion
def temme(terms: int, least: int, furthest: float) -> list[list[float]]:
    """Those of c_k that count from a = ``least`` on, of rising powers of eta: DLMF 8.12.9 and 8.12.11."""
    count = 80
    # mu mu' = eta (1 + mu) makes one coefficient of mu out of those before it.
    mu = [Fraction(0), Fraction(1)]
    for n in range(2, count):
        mixed = sum((j * mu[n + 1 - j] * mu[j] for j in range(2, n)), Fraction(0))
        mu.append((mu[n - 1] - mixed) / (n + 1))
    inverse = [Fraction(1)]  # eta / mu
    for n in range(1, count - 1):
        inverse.append(-sum((mu[j + 1] * inverse[n - j] for j in range(1, n + 1)), Fraction(0)))
    found, now = [], inverse[1:]
    for k in range(terms):
        sizes = [abs(float(c)) * furthest**n * float(least) ** -k for n, c in enumerate(now)]
        found.append([float(c) for c in now[: max(n for n, size in enumerate(sizes[:40]) if size > 2e-18) + 1]])
        # The pole of c' / eta is what takes that of g / mu away, which says what g is.
        now = [(n + 2) * now[n + 2] - now[1] * inverse[n + 1] for n in range(len(now) - 2)]
    return found


def tables() -> Iterator[tuple[str, str, Callable[[], list[str]]]]:
    """The type, the name and the numbers of each."""
    for name, make in fits():
        if name.startswith("I"):
            yield "float", name, lambda make=make: [f"{mpmath.nstr(c, 10)}f" for c in make(SINGLE)]
        elif name != "kReciprocal":  # of float, but computed in double
            yield "double", name, lambda make=make: [repr(float(c)) for c in make(SINGLE)]
        yield "double", name, lambda make=make: [repr(float(c)) for c in make(DOUBLE)]
    for k, row in enumerate(temme(8, 100, 0.34)):
        yield "double", f"kTemme{k}", lambda row=row: [repr(c) for c in reversed(row)]


def main() -> int:
    """Prints or checks."""
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("names", nargs="*", default=[""])
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    mpmath.mp.dps = 60
    sources = "".join("".join(path.read_text().split()) for path in sorted(Path(__file__).parent.glob("*.cpp")))
    missing = 0
    for kind, name, make in tables():
        if not name.startswith(tuple(given.names)):
            continue
        body = ", ".join(make())
        if given.check:
            known = f"{name.split('.')[-1]}[]={{{body.replace(' ', '')}}};" in sources
            missing += not known
            print(f"{kind} {name}: {'as in the sources' if known else 'not in the sources'}")
        else:
            lines = textwrap.wrap(body, 120)
            print(f"// {name}\n  static constexpr {kind} {name.split('.')[-1]}[] = {{")
            print("\n".join(f"      {line}" for line in lines) + "};", flush=True)
    return missing


if __name__ == "__main__":
    sys.exit(main())
