"""A SuperNode that misbehaves when it answers, as the file `behaviour` in its folder says.

plain          as any other
twice          every answer again with another id, and all older answers once more
late           to a train request, when the file says something else

However it behaves, the SuperLink misses it sooner than others: after twice HEARTBEAT_SECONDS,
the shortest that Flower allows.
"""

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flwr.supercore import heartbeat
from flwr.supernode import fleet_http_connection
from flwr.supernode import start_client_internal as supernode
from flwr.supernode.cli import flower_supernode

HEARTBEAT_SECONDS = 10
heartbeat.HEARTBEAT_DEFAULT_INTERVAL = HEARTBEAT_SECONDS
fleet_http_connection.HEARTBEAT_DEFAULT_INTERVAL = HEARTBEAT_SECONDS
honest_connection = supernode.http_request_response


@contextmanager
def hostile_connection(*options: Any) -> Iterator[tuple[Any, ...]]:
    older: list[tuple[Any, ...]] = []
    with honest_connection(*options) as (node_id, receive, send, *others):

        def send_badly(message: Any, tree: Any, seconds: float) -> Any:
            behaviour = Path("behaviour").read_text()
            if behaviour == "late" and message.metadata.message_type == "train":
                print("hostile: waiting", flush=True)
                while Path("behaviour").read_text() == "late":
                    time.sleep(0.2)
                print("hostile: waited", flush=True)
            answer = send(message, tree, seconds)
            if behaviour == "twice":
                for once_more in [*older, (renamed(message), tree, seconds)]:
                    print("hostile: sent again, accepted:", send(*once_more), flush=True)
                older.append((message, tree, seconds))
            return answer

        yield (node_id, receive, send_badly, *others)


def renamed(message: Any) -> Any:
    """The same answer under another id: a second opinion, to the SuperLink."""
    other = copy.deepcopy(message)
    other.metadata.__dict__["_message_id"] = "0" * 64
    return other


supernode.http_request_response = hostile_connection

if __name__ == "__main__":
    flower_supernode()
