"""Functions of TorchScript on numbers, with Python's results. See `library`.

An int that does not fit 64 bits ends the run: Python would go on. Torch takes `x != x` to be false,
so NaNs are asked for by name.
"""

# ruff: noqa: UP006, UP035

import math
from typing import List, Tuple

# --- ints ---------------------------------------------------------------------------------------


def overflow(what: str) -> int:
    raise OverflowError("an int of more than 64 bits in " + what)


def add(a: int, b: int) -> int:
    c = a + b
    if (b >= 0 and c < a) or (b < 0 and c > a):
        return overflow("an addition")
    return c


def sub(a: int, b: int) -> int:
    c = a - b
    if (b >= 0 and c > a) or (b < 0 and c < a):
        return overflow("a subtraction")
    return c


def mul(a: int, b: int) -> int:
    near = float(a) * float(b)
    c = a * b
    if near > 9.3e18 or near < -9.3e18 or (near > 9e18 and c < 0) or (near < -9e18 and c > 0):
        return overflow("a multiplication")
    return c


def neg(a: int) -> int:
    return sub(0, a)


def abs(a: int) -> int:
    return a if a >= 0 else neg(a)


def truediv(a: int, b: int) -> float:
    most = 9007199254740992
    if a > most or a < -most or b > most or b < -most:
        overflow("a division, where a float has 53")
    return float(a) / float(b)


def floordiv(a: int, b: int) -> int:
    if b == -1:
        return neg(a)
    return a // b


def mod(a: int, b: int) -> int:
    if b == -1:
        return 0
    return a - (a // b) * b


def int_pow(a: int, b: int) -> int:
    result = 1
    for _ in range(b if a < -1 or a > 1 else (b % 2 if a == -1 else min(b, 1))):
        result = mul(result, a)
    return result


def lshift(a: int, b: int) -> int:
    if a == 0:
        return 0
    if b > 62:
        return -9223372036854775807 - 1 if a == -1 and b == 63 else overflow("a shift")
    return mul(a, 1 << b)


def rshift(a: int, b: int) -> int:
    return a >> min(b, 63)


def isqrt(a: int) -> int:
    root = int(math.sqrt(float(a)))
    while root > 3037000499 or root * root > a:
        root -= 1
    while root < 3037000499 and (root + 1) * (root + 1) <= a:
        root += 1
    return root


def gcd(a: int, b: int) -> int:
    while b != 0:
        rest = mod(a, b)
        a = b
        b = rest
    return a if a >= 0 else neg(a)


def round_int(a: int, digits: int) -> int:
    if digits >= 0:
        return a
    if digits < -18:
        return 0
    unit = int_pow(10, -digits)
    low = (a // unit) * unit
    rest = a - low
    up = rest * 2 > unit or (rest * 2 == unit and (a // unit) % 2 == 1)
    return add(low, unit) if up else low


# --- ints and floats ----------------------------------------------------------------------------


def order(a: int, b: float) -> int:
    """-1, 0 or 1 as `a` is less than, equal to or greater than `b`, 2 for a NaN."""
    if math.isnan(b):
        return 2
    if b >= 9223372036854775808.0:
        return -1
    if b < -9223372036854775808.0:
        return 1
    whole = int(b)
    if a != whole:
        return -1 if a < whole else 1
    rest = b - float(whole)
    return 0 if rest == 0.0 else (-1 if rest > 0.0 else 1)


def eq(a: int, b: float) -> bool:
    return order(a, b) == 0


def ne(a: int, b: float) -> bool:
    return order(a, b) != 0


def lt(a: int, b: float) -> bool:
    return order(a, b) == -1


def le(a: int, b: float) -> bool:
    return order(a, b) < 1


def gt(a: int, b: float) -> bool:
    return order(a, b) == 1


def ge(a: int, b: float) -> bool:
    found = order(a, b)
    return found == 0 or found == 1


def to_int(x: float) -> int:
    if x >= 9223372036854775808.0 or x < -9223372036854775808.0 or math.isnan(x):
        return overflow("a conversion")
    return int(x)


def whole_below(x: float) -> float:
    """The greatest whole float that is not above `x`."""
    if x >= 4503599627370496.0 or x <= -4503599627370496.0 or math.isnan(x):
        return x
    below = float(int(x))
    return below - 1.0 if below > x else below


def floor(x: float) -> int:
    return to_int(whole_below(x))


def ceil(x: float) -> int:
    return to_int(-whole_below(-x))


def rounded(x: float) -> int:
    below = whole_below(x)
    rest = x - below
    up = rest > 0.5 or (rest == 0.5 and int(below) % 2 == 1)
    return to_int(below + 1.0 if up else below)


# --- floats -------------------------------------------------------------------------------------


def float_mod(a: float, b: float) -> float:
    rest = math.fmod(a, b)
    if rest == 0.0:
        return math.copysign(0.0, b)
    return rest + b if (b < 0.0) != (rest < 0.0) else rest


def float_floordiv(a: float, b: float) -> float:
    rest = math.fmod(a, b)
    quotient = (a - rest) / b
    if rest != 0.0 and (b < 0.0) != (rest < 0.0):
        quotient -= 1.0
    if quotient == 0.0:
        return math.copysign(0.0, a / b)
    below = whole_below(quotient)
    return below + 1.0 if quotient - below > 0.5 else below


def log2(x: float) -> float:
    if x <= 0.0 or math.isinf(x) or math.isnan(x):
        return math.log(x)
    parts = math.frexp(x)
    if x >= 1.0:
        return math.log(2.0 * parts[0]) / math.log(2.0) + float(parts[1] - 1)
    return math.log(parts[0]) / math.log(2.0) + float(parts[1])


def exp2(x: float) -> float:
    return math.pow(2.0, x)


def cbrt(x: float) -> float:
    if x == 0.0 or math.isinf(x) or math.isnan(x):
        return x
    near = math.copysign(math.pow(math.fabs(x), 1.0 / 3.0), x)
    return near - (near * near * near - x) / (3.0 * near * near)


def hypot(x: float, y: float) -> float:
    a = math.fabs(x)
    b = math.fabs(y)
    if math.isinf(a) or math.isinf(b):
        return a if math.isinf(a) else b
    most = a if a > b else b
    if most == 0.0 or math.isnan(a) or math.isnan(b):
        return a + b
    return most * math.sqrt((a / most) * (a / most) + (b / most) * (b / most))


# --- exact decimals -----------------------------------------------------------------------------


def times(limbs: List[int], factor: int) -> List[int]:
    """A number in limbs of nine decimals, the least first, times a factor below a million."""
    carry = 0
    found: List[int] = []
    for limb in limbs:
        total = limb * factor + carry
        found.append(total % 1000000000)
        carry = total // 1000000000
    if carry > 0:
        found.append(carry)
    return found


def decimals(x: float) -> Tuple[str, int]:
    """The digits of a positive float, all of them, and how many stand before the point."""
    parts = math.frexp(x)
    whole = int(parts[0] * 9007199254740992.0)
    power = parts[1] - 53
    while power < 0 and whole % 2 == 0:
        whole = whole // 2
        power += 1
    limbs = [whole % 1000000000, whole // 1000000000]
    left = power if power > 0 else -power
    while left > 0:
        step = 8 if left > 8 else left
        limbs = times(limbs, int_pow(2 if power > 0 else 5, step))
        left -= step
    text = ""
    for limb in limbs:
        text = str(limb).zfill(9) + text
    text = text.lstrip("0")
    return text, len(text) - (-power if power < 0 else 0)


def cut(digits: str, before: int, keep: int) -> Tuple[str, int]:
    """The first digits, rounded as IEEE 754 does."""
    if keep >= len(digits):
        return digits, before
    if keep < 0:
        return "", before
    rest = digits[keep:]
    last = int(digits[keep - 1]) if keep > 0 else 0
    half = rest[0] == "5" and len(rest[1:].strip("0")) == 0
    up = int(rest[0]) >= 5 and not (half and last % 2 == 0)
    kept = digits[:keep]
    if not up:
        return kept, before
    nines = len(kept) - len(kept.rstrip("9"))
    if nines == keep:
        return "1" + zeros(keep), before + 1
    place = keep - nines - 1
    return kept[:place] + str(int(kept[place]) + 1) + zeros(nines), before


def zeros(count: int) -> str:
    text = ""
    return text.ljust(count, "0") if count > 0 else text


def round_float(x: float, digits: int) -> float:
    if x == 0.0 or math.isnan(x) or math.isinf(x) or digits > 323:
        return x
    found = decimals(math.fabs(x))
    kept = cut(found[0], found[1], found[1] + digits)
    if len(kept[0]) == 0:
        return math.copysign(0.0, x)
    return math.copysign(float(kept[0] + "e" + str(kept[1] - len(kept[0]))), x)


# --- texts of floats ----------------------------------------------------------------------------


def special(x: float) -> str:
    """The text of what has no digits; of any other number an empty one."""
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0.0 else "-inf"
    return ""


def sign(x: float) -> str:
    return "-" if math.copysign(1.0, x) < 0.0 else ""


def shortest(x: float) -> Tuple[str, int]:
    """The fewest digits that read as a positive float, and how many stand before the point."""
    found = decimals(x)
    kept = found
    for count in range(1, 18):
        kept = cut(found[0], found[1], count)
        if float(kept[0] + "e" + str(kept[1] - len(kept[0]))) == x:
            break
    return kept[0].rstrip("0"), kept[1]


def power_text(digits: str, before: int) -> str:
    """Digits with an exponent: 1.5e-07."""
    power = before - 1
    whole = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    size = str(power if power >= 0 else -power).zfill(2)
    return whole + "e" + ("-" if power < 0 else "+") + size


def placed(digits: str, before: int, after: int) -> str:
    """Digits around a point, with so many after it."""
    if before <= 0:
        digits = zeros(1 - before) + digits
        before = 1
    digits = digits.ljust(before + after, "0")
    return digits[:before] + ("." + digits[before : before + after] if after > 0 else "")


def float_text(x: float) -> str:
    """`repr(x)`."""
    named = special(x)
    if len(named) > 0:
        return named
    if x == 0.0:
        return sign(x) + "0.0"
    if x > -1e15 and x < 1e15 and x == float(int(x)):
        return str(int(x)) + ".0"
    found = shortest(math.fabs(x))
    if found[1] > 16 or found[1] < -3:
        return sign(x) + power_text(found[0], found[1])
    after = len(found[0]) - found[1]
    return sign(x) + placed(found[0], found[1], after if after > 1 else 1)


def fixed(x: float, places: int) -> str:
    """`format(x, f".{places}f")`."""
    named = special(x)
    if len(named) > 0:
        return named
    if x == 0.0:
        return sign(x) + placed("0", 1, places)
    found = decimals(math.fabs(x))
    kept = cut(found[0], found[1], found[1] + places)
    if len(kept[0]) == 0:
        return sign(x) + placed("0", 1, places)
    return sign(x) + placed(kept[0], kept[1], places)


def exponential(x: float, places: int) -> str:
    """`format(x, f".{places}e")`."""
    named = special(x)
    if len(named) > 0:
        return named
    if x == 0.0:
        return sign(x) + power_text(zeros(places + 1), 1)
    found = decimals(math.fabs(x))
    kept = cut(found[0], found[1], places + 1)
    return sign(x) + power_text(kept[0].ljust(places + 1, "0")[: places + 1], kept[1])


def general(x: float, digits: int) -> str:
    """`format(x, f".{digits}g")`."""
    named = special(x)
    if len(named) > 0:
        return named
    if x == 0.0:
        return sign(x) + "0"
    count = digits if digits > 0 else 1
    found = decimals(math.fabs(x))
    kept = cut(found[0], found[1], count)
    few = kept[0].rstrip("0")
    if kept[1] > count or kept[1] < -3:
        return sign(x) + power_text(few, kept[1])
    after = len(few) - kept[1]
    return sign(x) + placed(few, kept[1], after if after > 0 else 0)


def grouped(text: str, mark: str) -> str:
    """The digits before the point in groups of three."""
    end = text.find(".")
    whole = text if end < 0 else text[:end]
    rest = "" if end < 0 else text[end:]
    found = ""
    while len(whole) > 3:
        found = mark + whole[len(whole) - 3 :] + found
        whole = whole[: len(whole) - 3]
    return whole + found + rest
