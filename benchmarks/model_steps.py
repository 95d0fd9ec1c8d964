"""What one model of transformers or diffusers comes to: a child process of `benchmarks.models`, under either `torch`.

``python model_steps.py NAME`` imports ``torch`` as it is found, with ``--here`` `mindtorch_v2` in its place. It prints
one line of JSON: the losses of three AdamW steps from one seed, the tokens of ``generate`` (greedy, beams, sampling),
and whether a model that was saved, in either form, gives the same values when it is loaded.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

VOCABULARY, STEPS, NEW_TOKENS = 64, 3, 6
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


def bert(t: Any) -> Any:
    """Masked language modelling."""
    return t.BertForMaskedLM(t.BertConfig(vocab_size=VOCABULARY, max_position_embeddings=64, **SMALL))


def gpt2(t: Any) -> Any:
    """A decoder."""
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": 1, "eos_token_id": 2}
    return t.GPT2LMHeadModel(t.GPT2Config(vocab_size=VOCABULARY, **sizes))


def llama(t: Any) -> Any:
    """A decoder with rotary positions and grouped keys."""
    sizes = {**SMALL, "num_key_value_heads": 2, "max_position_embeddings": 64}
    return t.LlamaForCausalLM(t.LlamaConfig(vocab_size=VOCABULARY, **sizes))


def t5(t: Any) -> Any:
    """An encoder and a decoder with relative positions."""
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
    return t.T5ForConditionalGeneration(t.T5Config(vocab_size=VOCABULARY, **sizes))


def vit(t: Any) -> Any:
    """A classifier of images."""
    return t.ViTForImageClassification(t.ViTConfig(image_size=32, patch_size=8, num_labels=5, **SMALL))


def whisper(t: Any) -> Any:
    """Speech to text."""
    layers = {f"{side}_{of}": n for side in ("encoder", "decoder") for of, n in SIDES.items()}
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    quiet = {"suppress_tokens": None, "begin_suppress_tokens": None}
    sizes = {"d_model": 32, "max_source_positions": 50, "max_target_positions": 32, "num_mel_bins": 8}
    config = t.WhisperConfig(vocab_size=VOCABULARY, **layers, **special, **quiet, **sizes)
    return t.WhisperForConditionalGeneration(config)


SIDES: dict[str, Any] = {"layers": 2, "attention_heads": 4, "ffn_dim": 64}
MODELS: dict[str, Callable[[Any], Any]] = {
    "BERT": bert,
    "GPT-2": gpt2,
    "LLaMA": llama,
    "T5": t5,
    "ViT": vit,
    "Whisper": whisper,
}
UNET, TRAINER = "U-Net of diffusers", "BERT by Trainer"
GENERATING = ("GPT-2", "LLaMA", "T5", "Whisper")
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "beams": {"num_beams": 3, "do_sample": False},
    "sampling": {"do_sample": True, "top_k": 10, "top_p": 0.9},
}


def inputs(torch: Any, name: str, with_labels: bool) -> dict[str, Any]:
    """What a model is called with, from the seed."""
    tokens = torch.randint(3, VOCABULARY, (2, 8))
    if name == "ViT":
        given, labels = {"pixel_values": torch.randn(2, 3, 32, 32)}, torch.tensor([1, 2])
    elif name == "Whisper":
        given, labels = {"input_features": torch.randn(2, 8, 100)}, tokens
    else:
        given, labels = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}, tokens
    return {**given, "labels": labels} if with_labels else given


def steps(torch: Any, transformers: Any, name: str) -> dict[str, Any]:
    """All that is compared."""
    torch.manual_seed(0)
    model = MODELS[name](transformers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    losses = []
    for step in range(STEPS):
        torch.manual_seed(step)
        loss = model(**inputs(torch, name, with_labels=True)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    model.eval()
    torch.manual_seed(7)
    given = inputs(torch, name, with_labels=False)
    found: dict[str, Any] = {"losses": losses}
    for way, options in WAYS.items() if name in GENERATING else ():
        torch.manual_seed(8)
        found[way] = model.generate(**given, **options, max_new_tokens=NEW_TOKENS, pad_token_id=0).tolist()
    called = (
        {**given, "decoder_input_ids": torch.ones((2, 3), dtype=torch.long)}
        if model.config.is_encoder_decoder
        else given
    )
    with torch.no_grad():
        logits = model(**called).logits
        for form in ("safetensors", "bin"):
            with tempfile.TemporaryDirectory() as folder:
                model.save_pretrained(folder, safe_serialization=form == "safetensors")
                loaded = type(model).from_pretrained(folder).eval()
                found[form] = torch.equal(loaded(**called).logits, logits)
    return found


def diffusion(torch: Any) -> dict[str, Any]:
    """A U-Net of diffusers: losses of three steps, and the mean square of an image that it makes of noise in four."""
    from diffusers import DDPMScheduler, UNet2DModel

    torch.manual_seed(0)
    blocks = {
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
        "block_out_channels": (32, 64),
    }
    model = UNet2DModel(sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, norm_num_groups=8, **blocks)
    schedule = DDPMScheduler(num_train_timesteps=20)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    found = []
    for step in range(STEPS):
        torch.manual_seed(step)
        image, noise, times = torch.randn(2, 3, 16, 16), torch.randn(2, 3, 16, 16), torch.randint(0, 20, (2,))
        loss = torch.nn.functional.mse_loss(model(schedule.add_noise(image, noise, times), times).sample, noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    model.eval()
    torch.manual_seed(7)
    image = torch.randn(1, 3, 16, 16)
    schedule.set_timesteps(4)
    with torch.no_grad():
        for time in schedule.timesteps:
            image = schedule.step(model(image, time).sample, time, image).prev_sample
    return {"losses": [*found, image.square().mean().item()]}


def trainer(torch: Any) -> dict[str, Any]:
    """BERT by ``Trainer`` of transformers, with accelerate: losses, and those of one that goes on from a checkpoint."""
    import numpy as np
    import transformers as t

    class Tokens(torch.utils.data.Dataset):  # type: ignore[misc]
        """Lines to learn by heart."""

        def __init__(self) -> None:
            self.lines = torch.randint(3, VOCABULARY, (24, 8), generator=torch.Generator().manual_seed(1))

        def __len__(self) -> int:
            return len(self.lines)

        def __getitem__(self, index: int) -> dict[str, Any]:
            line = self.lines[index]
            return {"input_ids": line, "attention_mask": torch.ones_like(line), "labels": line}

    # The checkpoint has NumPy's random state, which `torch.load` does not take without being told, in PyTorch neither.
    state = [np.core.multiarray._reconstruct, np.ndarray, np.dtype, type(np.dtype("uint32"))]
    torch.serialization.add_safe_globals(state)
    torch.manual_seed(0)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        options = {"per_device_train_batch_size": 4, "max_steps": 6, "logging_steps": 1, "save_steps": 3, "seed": 3}
        arguments = t.TrainingArguments(folder, **options, report_to=[], use_cpu=True, disable_tqdm=True)
        made = t.Trainer(model=bert(t), args=arguments, train_dataset=Tokens(), eval_dataset=Tokens())
        made.train()
        found["losses"] = [entry["loss"] for entry in made.state.log_history if "loss" in entry]
        found["losses"].append(made.evaluate()["eval_loss"])
        again = t.Trainer(model=bert(t), args=arguments, train_dataset=Tokens(), eval_dataset=Tokens())
        again.train(resume_from_checkpoint=f"{folder}/checkpoint-3")
        found["resumed"] = again.evaluate()["eval_loss"] == found["losses"][-1]
        found["checkpoints"] = sorted(path.name for path in Path(folder).glob("checkpoint-*"))
    return found


OTHERS = {UNET: diffusion, TRAINER: trainer}


def main() -> None:
    """The child process."""
    name = sys.argv[1]
    if "--here" in sys.argv:
        import mindtorch_v2

        mindtorch_v2.install_as_torch()
    import torch

    torch.set_num_threads(1)
    if name in OTHERS:
        found = OTHERS[name](torch)
    else:
        import transformers

        found = steps(torch, transformers, name)
    print(json.dumps({"torch": torch.__version__, **found}))


if __name__ == "__main__":
    main()
