"""Work of models as users have it: a child process of `benchmarks.model_times`, under either ``torch``.

It answers each line that names a workload with the seconds that one step of it took, ``memory`` with the most bytes
this process held, and ``outside NAME`` with the share of a step that was in no operator, by the profiler.
With ``--here`` `mindtorch_v2` is what ``import torch`` means.
"""

from __future__ import annotations

import functools
import itertools
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

Step = Callable[[], object]


def trained(torch: Any, model: Any, run: Callable[[Any], Any]) -> Step:
    """A step of AdamW: ``run(model)`` is the loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()

    def step() -> None:
        run(model).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def bert(torch: Any, attention: str, batch: int, **sizes: int) -> Step:
    """Masked language modelling by transformers' BERT, 128 words a sentence."""
    import transformers

    config = transformers.BertConfig(attn_implementation=attention, **sizes)
    tokens = torch.randint(1000, config.vocab_size, (batch, 128))
    mask = torch.ones_like(tokens)
    model = transformers.BertForMaskedLM(config)
    return trained(torch, model, lambda model: model(input_ids=tokens, attention_mask=mask, labels=tokens).loss)


def gpt2(torch: Any) -> Step:
    """64 tokens after 8 by GPT-2 small, greedy."""
    import transformers

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(bos_token_id=1, eos_token_id=2)).eval()
    tokens = torch.randint(3, 50257, (1, 8))
    lengths = {"min_new_tokens": 64, "max_new_tokens": 64}
    return lambda: model.generate(tokens, attention_mask=torch.ones_like(tokens), pad_token_id=0, **lengths)


def resnet18(torch: Any) -> Step:
    """Four images of 224 × 224 classified, by the network of He et al. (2015), with its gradients and SGD."""
    nn = torch.nn

    def norm(channels: int, *before: Any) -> Any:
        return nn.Sequential(*before, nn.BatchNorm2d(channels))

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.first = norm(after, nn.Conv2d(before, after, 3, stride, 1, bias=False))
            self.second = norm(after, nn.Conv2d(after, after, 3, 1, 1, bias=False))
            beside = norm(after, nn.Conv2d(before, after, 1, stride, bias=False))
            self.beside = beside if stride > 1 else nn.Identity()

        def forward(self, x: Any) -> Any:
            return torch.relu(self.second(torch.relu(self.first(x))) + self.beside(x))

    widths = (64, 64, 128, 256, 512)
    blocks = [
        Block(before if first else after, after, 2 if first and before != after else 1)
        for before, after in itertools.pairwise(widths)
        for first in (True, False)
    ]
    stem = [norm(64, nn.Conv2d(3, 64, 7, 2, 3, bias=False)), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    model = nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(4, 3, 224, 224), torch.tensor([1, 2, 3, 4])

    def step() -> None:
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


class Images:
    """A thousand images, each made when it is asked for."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.torch.full((3, 64, 64), index / 1000).sqrt(), index % 10


def loaded(torch: Any) -> Step:
    """An epoch of a thousand images in batches of 20, by two workers that stay."""
    loader = torch.utils.data.DataLoader(Images(torch), batch_size=20, num_workers=2, persistent_workers=True)

    def epoch() -> None:
        if sum(labels.numel() for _, labels in loader) != 1000:
            raise RuntimeError("the loader lost images")

    return epoch


WORKLOADS: dict[str, Callable[[Any], Step]] = {
    "BERT-base, 4 × 128, a step of AdamW, eager attention": functools.partial(bert, attention="eager", batch=4),
    "BERT-base, 4 × 128, a step of AdamW, SDPA": functools.partial(bert, attention="sdpa", batch=4),
    "BERT of 2 layers × 128, 1 × 128, a step of AdamW": functools.partial(
        bert,
        attention="eager",
        batch=1,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
    ),
    "GPT-2 small, 64 tokens": gpt2,
    "ResNet-18, 4 × 224², a step of SGD": resnet18,
    "DataLoader, two workers, an epoch": loaded,
}


def timed(step: Step) -> float:
    """Wall seconds."""
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def outside(torch: Any, step: Step) -> float:
    """The share of a step's time that no operator's kernel took."""
    with torch.profiler.profile() as profile:
        seconds = timed(step)
    inside: float = sum(row.self_cpu_time_total for row in profile.key_averages()) * 1e-6
    return 1 - inside / seconds


def main() -> None:
    """The child process."""
    if "--here" in sys.argv:
        import mindtorch_v2

        mindtorch_v2.install_as_torch()
    import torch

    torch.set_num_threads(int(sys.argv[1]))

    @functools.cache
    def ready(name: str) -> Step:
        torch.manual_seed(0)
        step = WORKLOADS[name](torch)
        step()
        return step

    for line in sys.stdin:
        name = line.strip()
        if name == "memory":
            answer = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
        elif name.startswith("outside "):
            answer = outside(torch, ready(name.partition(" ")[2]))
        else:
            answer = timed(ready(name))
        print(answer, flush=True)


if __name__ == "__main__":
    main()
