"""Quantities of Kubernetes such as 500m, 2Gi or 1e3: read, summed and written."""

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal, InvalidOperation

SUFFIXES = {
    **{suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{suffix: Decimal(1000) ** -power for power, suffix in enumerate(("m", "u", "n"), start=1)},
}


def parse(written: float | str) -> Decimal | None:
    """Give the number; nothing for what is no quantity."""
    word = str(written).strip()
    suffix = next((suffix for suffix in SUFFIXES if word.endswith(suffix)), "")
    try:
        number = Decimal(word.removesuffix(suffix))
    except InvalidOperation:
        return None
    return number * SUFFIXES.get(suffix, Decimal(1)) if number.is_finite() else None


def write(number: Decimal) -> str:
    """Give it as a whole number, or in thousandths, never less than it is."""
    if number == number.to_integral_value():
        return str(int(number))
    return f"{int((number * 1000).to_integral_value(ROUND_CEILING))}m"


def total(parts: Iterable[tuple[int, Mapping[str, float | str]]]) -> dict[str, str]:
    """Sum up what so many of each ask for, by resource."""
    sums: dict[str, Decimal] = {}
    for count, resources in parts:
        for name, written in resources.items():
            sums[name] = sums.get(name, Decimal(0)) + count * (parse(written) or Decimal(0))
    return {name: write(number) for name, number in sorted(sums.items())}
