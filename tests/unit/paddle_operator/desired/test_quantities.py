"""Quantities as Kubernetes writes them."""

from decimal import Decimal

import pytest

from paddle_operator.desired import quantities


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("500m", Decimal("0.5")),
        (2, Decimal(2)),
        (0.5, Decimal("0.5")),
        ("1Gi", Decimal(1 << 30)),
        ("1.5G", Decimal(1_500_000_000)),
        ("1e3", Decimal(1000)),
        ("2E", Decimal(2) * 10**18),
        ("1Ei", Decimal(1 << 60)),
        ("", None),
        ("lots", None),
        ("NaN", None),
    ],
)
def test_a_quantity_is_read(written: float | str, number: Decimal | None) -> None:
    assert quantities.parse(written) == number


def test_a_sum_is_never_less_than_its_parts() -> None:
    assert quantities.total([(3, {"cpu": "100m"}), (1, {"cpu": "1u", "memory": "1Ki"}), (2, {"cpu": "lots"})]) == {
        "cpu": "301m",
        "memory": "1024",
    }
