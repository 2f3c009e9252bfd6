"""Generate the demo's input, orders of a coffee shop, and compute the expected results without Spark."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from confluent_kafka import Producer

START = datetime(2026, 3, 2, 6, tzinfo=timezone.utc)
SPAN = timedelta(hours=2)
PARTITIONS = 4
COUNTRIES = {"DE": 28, "FR": 21, "US": 19, "BR": 12, "IT": 11, "JP": 9}
PRODUCTS = {
    "espresso beans 1 kg": "18.90",
    "filter coffee 500 g": "9.49",
    "decaf beans 500 g": "11.20",
    "hand grinder": "64.00",
    "moka pot": "32.50",
    "milk frother": "24.99",
    "filter papers": "3.49",
    "espresso machine": "419.00",
}


@dataclass(frozen=True)
class Order:
    """A record of the topic."""

    order_id: int
    customer_id: int
    product: str
    price: Decimal
    quantity: int
    country: str
    time: datetime

    @property
    def total(self) -> Decimal:
        """Price times quantity."""
        return self.price * self.quantity

    def payload(self) -> bytes:
        """Return the record's value: JSON, with the price as a number with two decimals."""
        fields = {
            "order_id": self.order_id,
            "customer_id": self.customer_id,
            "product": self.product,
            "quantity": self.quantity,
            "country": self.country,
        }
        return (json.dumps(fields)[:-1] + f', "price": {self.price}}}').encode()


def orders(count: int, seed: int = 7) -> Iterator[Order]:
    """Yield ``count`` orders by ascending time. The orders are the same in each run."""
    rng = random.Random(seed)
    products = list(PRODUCTS)
    countries = rng.choices(list(COUNTRIES), list(COUNTRIES.values()), k=count)
    for i, country in enumerate(countries):
        product = products[min(int(rng.expovariate(0.5)), len(products) - 1)]
        time = START + timedelta(milliseconds=i * (SPAN // timedelta(milliseconds=1)) // count)
        yield Order(
            i + 1, rng.randrange(1, 40_000), product, Decimal(PRODUCTS[product]), rng.randint(1, 5), country, time
        )


@dataclass
class ExpectedResults:
    """The expected results of the demo's queries, summed up order by order."""

    orders: int = 0
    revenue: Decimal = Decimal(0)
    by_country: dict[str, list[Decimal]] = field(default_factory=lambda: defaultdict(lambda: [Decimal(0)] * 3))
    by_partition: Counter[int] = field(default_factory=Counter)
    large: list[Decimal] = field(default_factory=list)
    windows: dict[tuple[datetime, str], list[Decimal]] = field(
        default_factory=lambda: defaultdict(lambda: [Decimal(0)] * 2)
    )

    def add(self, order: Order, partition: int) -> None:
        """Add an order."""
        self.orders += 1
        self.revenue += order.total
        count, items, revenue = self.by_country[order.country]
        self.by_country[order.country] = [count + 1, items + order.quantity, revenue + order.total]
        self.by_partition[partition] += 1
        if order.total >= 500:
            self.large.append(order.total)
        window = order.time - timedelta(minutes=order.time.minute % 10, seconds=order.time.second)
        key = (window.replace(microsecond=0), order.country)
        count, revenue = self.windows[key]
        self.windows[key] = [count + 1, revenue + order.total]


def fill(bootstrap: str, topic: str, count: int, progress: Callable[[int], None]) -> ExpectedResults:
    """Send ``count`` orders to ``topic``, and return the expected results.

    Raises:
        RuntimeError: a record was not acknowledged.
    """
    expected, failed = ExpectedResults(), list[str]()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "log_level": 0})

    def report(error: object, _: object) -> None:
        if error is not None:
            failed.append(str(error))

    for order in orders(count):
        partition = order.order_id % PARTITIONS
        expected.add(order, partition)
        while True:
            try:
                milliseconds = int(order.time.timestamp() * 1000)
                producer.produce(
                    topic, order.payload(), partition=partition, timestamp=milliseconds, on_delivery=report
                )
                break
            except BufferError:  # the queue is full: wait for acknowledgements
                producer.poll(0.1)
        if order.order_id % 20_000 == 0:
            producer.poll(0)
            progress(order.order_id)
    producer.flush()
    if failed:
        raise RuntimeError(f"{len(failed)} of {count} records were not acknowledged: {failed[0]}")
    return expected
