"""``torch.__future__``: whether modules that are converted or loaded get new parameters, or what is theirs changes."""

from __future__ import annotations

from .nn._conversion import Conversions

__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether conversions of modules, as ``module.to(...)``, put new parameters in the place of the old ones."""
    Conversions.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What `set_overwrite_module_params_on_conversion` set; False at first."""
    return Conversions.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether modules swap parameters with what a conversion, or ``module_load`` of what is loaded, makes of them."""
    Conversions.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """What `set_swap_module_params_on_conversion` set; False at first."""
    return Conversions.swap
