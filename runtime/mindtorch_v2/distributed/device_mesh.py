"""The names of processes as a grid, which is not here: groups are made by ``new_group``."""

from __future__ import annotations

from ._absent import absent

__all__ = ["DeviceMesh", "init_device_mesh"]

DeviceMesh, init_device_mesh = absent("device_mesh.DeviceMesh"), absent("device_mesh.init_device_mesh")
