"""Process requests of the benchmark, with one JSON request and one JSON response per line.

Peers in environments without this project import this module: it needs the standard library only.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Final, TypeVar

RESPONSE_MARK: Final = "@@ "  # marks responses, because libraries print to stdout, too

Handler = TypeVar("Handler")


def serve(create: Callable[[], Handler]) -> Handler:
    """Create a handler, process requests until the input ends, and return the handler.

    Each public method of the handler is a request. What libraries print goes to stderr.
    """
    responses = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def respond(response: object) -> None:
        print(RESPONSE_MARK + json.dumps(response), file=responses, flush=True)

    handler = create()
    respond("ready")
    for line in sys.stdin:
        request = json.loads(line)
        try:
            respond(getattr(handler, request.pop("do"))(**request))
        except Exception as e:  # noqa: BLE001  # reported to the caller, whatever it is
            traceback.print_exc()
            respond({"error": str(e)[:2000]})
    return handler
