"""A module whose forward is a graph."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .. import _core, _type_info
from .._ops import ops
from ..nn import Module
from .graph import Graph

__all__ = ["GraphModule"]


class _Torch:
    """What code of a graph calls ``torch``: dtypes, layouts and operators."""

    ops = ops

    def __getattr__(self, name: str) -> Any:
        if name in _core.dtypes:
            return _core.dtypes[name]
        found = getattr(_type_info, name, None)
        if isinstance(found, (_type_info.layout, _type_info.memory_format)):
            return found
        raise AttributeError(name)


class GraphModule(Module):
    """Runs the graph's code, compiled when it is set; ``root`` has the attributes that it reads."""

    def __init__(self, root: Mapping[str, Any] | Module, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self._class_name = class_name
        read = {node.target for node in graph.nodes if node.op == "get_attr"}
        for name in sorted(read):
            value = root[name] if isinstance(root, Mapping) else getattr(root, name)
            setattr(self, name, value)
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph. After it is changed, ``recompile()``."""
        graph: Graph = self._graph
        return graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        self.__dict__["_graph"] = graph
        self.recompile()

    def recompile(self) -> None:
        """Makes the code anew."""
        self.__dict__["_code"] = code = self._graph.code()
        found: dict[str, Any] = {}
        exec(code, {"torch": _Torch(), "device": _core.device, "inf": math.inf, "nan": math.nan}, found)
        self.__dict__["_forward"] = found["forward"]

    @property
    def code(self) -> str:
        """The Python code that runs."""
        text: str = self._code
        return text

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the graph returns."""
        return self._forward(self, *args, **kwargs)

    def print_readable(self, print_output: bool = True) -> str:
        """The code within its class, which is printed, too."""
        body = "\n".join(f"    {line}".rstrip() for line in self.code.strip().splitlines())
        text = f"class {self._class_name}(torch.nn.Module):\n{body}\n"
        if print_output:
            print(text)
        return text
