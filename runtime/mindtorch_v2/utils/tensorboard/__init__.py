"""PyTorch's ``torch.utils.tensorboard``: what a program wants to see of its training, as TensorBoard's event files.

Stands on the package ``tensorboard``, whose file formats these are, and is there only where that is installed.
"""

from __future__ import annotations

try:
    from tensorboard.summary.writer.record_writer import RecordWriter
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "tensorboard":
        raise
    raise ModuleNotFoundError(
        "torch.utils.tensorboard needs the package tensorboard, which is not installed: pip install tensorboard",
        name="tensorboard",
    ) from None

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
