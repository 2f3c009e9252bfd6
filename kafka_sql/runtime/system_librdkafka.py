"""Use the system's librdkafka instead of the one in confluent-kafka's wheel, which lacks Kerberos.

The dynamic linker resolves a symbol with the first library of the process that exports it. A librdkafka that is loaded
before confluent_kafka therefore replaces the wheel's, without a compiler. confluent_kafka rejects one that is too old.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

VARIABLE: Final = "KAFKA_SQL_LIBRDKAFKA"  # such as librdkafka.so.1, or a path


def load_system_librdkafka() -> None:
    """Load the library that the environment variable names, if any.

    Raises:
        ImportError: it cannot be loaded, or confluent_kafka was imported before this package.
    """
    name = os.environ.get(VARIABLE)
    if not name:
        return
    if "confluent_kafka" in sys.modules:
        raise ImportError(f"{VARIABLE} = '{name}' is too late after 'import confluent_kafka'. Import kafka_sql first.")
    try:
        ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    except OSError as e:
        raise ImportError(
            f"{VARIABLE} = '{name}' cannot be loaded: {e}. Set it to the path of librdkafka.so.1 on this machine."
        ) from e
