"""Hooks that make a weight before every forward: finding them, and taking them away."""

from __future__ import annotations

from typing import Any

__all__ = ["find_hook", "remove_hook"]


def find_hook(module: Any, kind: type, name: str) -> Any:
    """A module's forward pre-hook of a class, for the weight of a name; None where there is none."""
    hooks = module._hooks.forward_pre.values() if module._hooks is not None else ()
    return next((hook for hook in hooks if isinstance(hook, kind) and getattr(hook, "name", None) == name), None)


def remove_hook(registry: dict[Any, Any], hook: Any) -> None:
    """Takes a hook out of a registry."""
    for key, value in list(registry.items()):
        if value is hook:
            del registry[key]
