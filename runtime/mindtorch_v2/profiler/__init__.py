"""PyTorch's ``torch.profiler``: what a program's steps take, as events, tables and traces."""

from __future__ import annotations

from ..autograd.profiler import KinetoStepTracker, record_function
from ..autograd.profiler_util import DeviceType
from ._actions import ProfilerAction, ProfilerActivity, schedule, supported_activities
from ._profile import kineto_available, profile, tensorboard_trace_handler

__all__ = [
    "DeviceType",
    "KinetoStepTracker",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
