"""Aggregate rows in Python as ``benchmarks.orders.select_list`` and ``string_extremes`` do in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

STRINGS: Final = ("product", "status", "country")


class Totals:
    """The aggregates of the rows so far.

    Example::

        totals = Totals(with_extremes=False)
        totals.add(rows)
        totals.row()

    Attributes:
        count: number of rows.
    """

    def __init__(self, with_extremes: bool) -> None:
        """Start without rows. With extremes, the row has the least and greatest strings in place of sums."""
        self.count = 0
        self._with_extremes = with_extremes
        self._order_ids = self._user_ids = self._cents = self._quantities = self._paid = self._ts = 0
        self._lengths = [0, 0, 0]
        self._extremes: list[str | None] = [None] * 6

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows."""
        for row in rows:
            self.count += 1
            self._order_ids += row["order_id"]
            self._user_ids += row["user_id"]
            self._cents += int(row["price"] * 100)
            self._quantities += row["quantity"]
            self._paid += row["paid"]
            if row["ts"] > self._ts:
                self._ts = row["ts"]
            product, status, country = row["product"], row["status"], row["country"]
            self._lengths[0] += len(product)
            self._lengths[1] += len(status)
            self._lengths[2] += len(country)
            if self._with_extremes:
                self._extend([product, product, status, status, country, country])

    def merge(self, other: Totals) -> Totals:
        """Add the rows of other totals."""
        self.count += other.count
        self._order_ids += other._order_ids
        self._user_ids += other._user_ids
        self._cents += other._cents
        self._quantities += other._quantities
        self._paid += other._paid
        self._ts = max(self._ts, other._ts)
        self._lengths = [a + b for a, b in zip(self._lengths, other._lengths, strict=True)]
        self._extend(other._extremes)
        return self

    def row(self) -> list[str]:
        """Return the result row as strings."""
        if self._with_extremes:
            return [str(value) for value in self._extremes]
        sums = (self._order_ids, self._user_ids, self._cents, self._quantities, self._paid, self._ts)
        return [str(value) for value in (self.count, *sums, *self._lengths)]

    def _extend(self, values: Iterable[str | None]) -> None:
        for i, value in enumerate(values):
            current = self._extremes[i]
            if value is not None and (current is None or (value > current if i % 2 else value < current)):
                self._extremes[i] = value
