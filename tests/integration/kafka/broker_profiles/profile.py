"""Read what is publicly known about the Kafka API of a vendor's brokers, from the JSON files in this folder.

``apis`` has a line for each request: the API key, the oldest and the latest version, and the source among ``sources``.
A source begins with "documented" or "inferred". Of the optional limits, ``max_request_bytes`` and ``idle_seconds`` end
the connection, and so does an unknown version of ApiVersions with ``closes_on_unknown_api_versions``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class BrokerProfile:
    """The Kafka API of a vendor's brokers.

    Attributes:
        name: the vendor's product and its version.
        versions: the oldest and the latest version of each request, by API key.
        max_request_bytes, idle_seconds: the limits after which brokers close a connection; None without one.
        closes_on_unknown_api_versions: whether a later version of ApiVersions ends the connection, instead of being
            answered with the supported versions (KIP-511).
    """

    name: str
    versions: dict[int, tuple[int, int]]
    max_request_bytes: int | None = None
    idle_seconds: float | None = None
    closes_on_unknown_api_versions: bool = False

    def supports(self, key: int, version: int) -> bool:
        """Return whether the brokers support this version of a request."""
        oldest, latest = self.versions.get(key, (0, -1))
        return oldest <= version <= latest


# of a proxy that restricts nothing
ANY_REQUEST = BrokerProfile("any broker", dict.fromkeys(range(100), (0, 100)))


def profile_names() -> list[str]:
    """Return the names of the files."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def read_profile(name: str) -> BrokerProfile:
    """Read a profile.

    Args:
        name: the name of the file without its ending.
    """
    content = json.loads((_FOLDER / f"{name}.json").read_text())
    return BrokerProfile(
        content["name"],
        {key: (oldest, latest) for key, oldest, latest, _ in content["apis"].values()},
        content.get("max_request_bytes"),
        content.get("idle_seconds"),
        content.get("closes_on_unknown_api_versions", False),
    )
