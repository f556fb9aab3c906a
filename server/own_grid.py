"""What grids of fedbn's own have in common: nobody asks them for a run of Flower's runtime."""

from __future__ import annotations

from typing import Any

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid


class OwnGrid(Grid):
    """A grid that carries messages itself; what it lacks is how."""

    def set_run(self, run: Any) -> None:
        """Nothing to set: there is one run."""

    @property
    def run(self) -> Any:
        """There is no run of Flower's runtime."""
        raise NotImplementedError(f"a {type(self).__name__} has no run of Flower's runtime")

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """A message from the server."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)
