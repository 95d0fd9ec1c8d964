"""Settings of libraries that are not here: kept for programs that change and restore them, and read by no kernel."""

from __future__ import annotations

from typing import Any

__all__ = ["exchange"]


def exchange(settings: dict[str, Any], wanted: dict[str, Any]) -> tuple[Any, ...]:
    """Sets a module's settings but those that are None, and returns what all of them were."""
    before = tuple(settings[name] for name in wanted)
    settings.update({name: value for name, value in wanted.items() if value is not None})
    return before
