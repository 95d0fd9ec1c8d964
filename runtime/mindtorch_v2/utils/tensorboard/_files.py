"""``FileWriter``: events into a file of a folder."""

from __future__ import annotations

import os
import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, TaggedRunMetadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter

__all__ = ["FileWriter"]


class FileWriter:
    """Writes summaries and graphs, in the background, into a new event file of ``log_dir``.

    The file is written every ``flush_secs`` seconds, or where ``max_queue`` events wait. Its name ends with
    ``filename_suffix``.
    """

    def __init__(
        self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = ""
    ) -> None:
        self._options = (str(log_dir), max_queue, flush_secs, filename_suffix)
        self.event_writer = EventFileWriter(*self._options)
        self._closed = False

    def get_logdir(self) -> str:
        """The folder."""
        return self._options[0]

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Writes an event, of a step, at a time in seconds (now, where it is None)."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Writes a summary."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: tuple[Any, Any], walltime: float | None = None) -> None:
        """Writes a graph, and what is known of its run."""
        graph, run = graph_profile
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)
        metadata = TaggedRunMetadata(tag="step1", run_metadata=run.SerializeToString())
        self.add_event(Event(tagged_run_metadata=metadata), None, walltime)

    def flush(self) -> None:
        """Returns when all is written."""
        self.event_writer.flush()

    def close(self) -> None:
        """Writes what waits, and closes the file."""
        self.event_writer.close()
        self._closed = True

    def reopen(self) -> None:
        """After `close`, goes on in another file of the folder."""
        if self._closed:
            self.event_writer = EventFileWriter(*self._options)
            self._closed = False
