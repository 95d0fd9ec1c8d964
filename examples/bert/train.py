"""Trains the example's BERT: by this runtime, or with ``--torch`` by PyTorch, by the same lines.

It saves a checkpoint now and then; a run that was ended goes on with ``--resume``, with the losses of one that was not.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

HERE = Path(__file__).resolve().parent
BATCH, LENGTH, RATE, EVALUATED = 16, 32, 1e-3, 8


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n  train.py --steps 200\n  train.py --fused --device npu --steps 20\n  train.py --torch\n"
        "  train.py --checkpoint bert.pt --resume",
    )
    parser.add_argument("--torch", action="store_true", help="by PyTorch, if it is installed")
    parser.add_argument(
        "--device", default="cpu", choices=["cpu", "npu"], help="npu is the simulated one without hardware"
    )
    parser.add_argument("--fused", action="store_true", help="the feed-forward layers with the operator of ops.yaml")
    parser.add_argument("--steps", type=int, default=200, metavar="N", help="in all (default 200)")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="where the run is saved")
    parser.add_argument("--every", type=int, default=25, metavar="N", help="steps between checkpoints (default 25)")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint, if it is there")
    parser.add_argument("--losses", type=Path, metavar="FILE", help="where losses and times are written, as JSON")
    options = parser.parse_args()
    if options.torch and (options.device != "cpu" or options.fused):
        parser.error("--torch is for the CPU, and without --fused")
    if options.resume and options.checkpoint is None:
        parser.error("--resume needs --checkpoint")
    return options


def save(state: dict[str, Any], path: Path, torch: Any) -> None:
    """Writes a checkpoint whole: a run that is killed meanwhile leaves the one before."""
    unfinished = path.with_suffix(".unfinished")
    torch.save(state, unfinished)
    unfinished.replace(path)


def evaluate(model: Any, data: Any, device: str, torch: Any, corpus: Any) -> tuple[float, float]:
    """Loss, and share of right tokens, of what is asked for in the text that was held out."""
    model.eval()
    losses, right, asked = [], 0, 0
    with torch.no_grad():
        for number in range(EVALUATED):
            tokens, labels = (
                torch.from_numpy(part).to(device) for part in corpus.batch(data, number, BATCH, LENGTH, held_out=True)
            )
            logits = model(tokens).flatten(0, 1)
            losses.append(torch.nn.functional.cross_entropy(logits, labels.flatten()).item())
            of = labels.flatten() != corpus.IGNORED
            right += (logits.argmax(-1) == labels.flatten())[of].sum().item()
            asked += of.sum().item()
    model.train()
    return sum(losses) / len(losses), right / asked


def main() -> int:
    """Runs the command line."""
    options = arguments()
    if not options.torch:
        import mindtorch_v2

        mindtorch_v2.install_as_torch()
    import corpus
    import model as bert
    import torch

    console = Console()
    activation = bert.bias_then_gelu
    if options.fused:
        from generated.ops import bias_gelu as activation
    data = corpus.load()
    torch.manual_seed(0)
    model = bert.Bert(bert.Config(data.vocabulary), activation).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    losses: list[float] = []
    seconds: list[float] = []
    if options.resume and options.checkpoint.exists():
        state = torch.load(options.checkpoint, map_location=options.device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        losses = state["losses"]
        console.print(f"going on from step {len(losses)} of {options.checkpoint}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("loss {task.fields[loss]}"), console=console) as progress:
        bar = progress.add_task(torch.__version__, total=options.steps, completed=len(losses), loss="")
        for step in range(len(losses), options.steps):
            begun = time.perf_counter()
            torch.manual_seed(step)  # what dropout drops follows from the step, in a run that goes on too
            tokens, labels = (
                torch.from_numpy(part).to(options.device) for part in corpus.batch(data, step, BATCH, LENGTH)
            )
            loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), labels.flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            seconds.append(time.perf_counter() - begun)
            progress.update(bar, advance=1, loss=f"{losses[-1]:.4f}")
            if options.checkpoint and (len(losses) % options.every == 0 or len(losses) == options.steps):
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "losses": losses}
                save(state, options.checkpoint, torch)
    held_out, right = evaluate(model, data, options.device, torch, corpus)
    console.print(f"text that was held out: loss {held_out:.4f}, {right:.1%} of the hidden tokens right")
    if options.losses:
        told = {"torch": torch.__version__, "losses": losses, "seconds": seconds, "held_out": held_out, "right": right}
        options.losses.write_text(json.dumps(told), "utf-8")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
