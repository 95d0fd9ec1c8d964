"""A call as a value, and as the lines of Python that make its arguments and call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.fuzz.targets import Parameter, Target
from benchmarks.fuzz.values import CLASSES, AliasValue, ListValue, PlainValue, TensorValue, Value, tensors_in, values_in

__all__ = ["Argument", "Call"]


@dataclass(frozen=True)
class Argument:
    """A value passed by position, or by ``name``."""

    value: Value
    name: str | None = None


@dataclass(frozen=True)
class Call:
    """A target and its arguments."""

    target: Target
    arguments: tuple[Argument, ...]

    def source(self) -> str:
        """The lines, which leave what the call gives in ``result``. Each tensor has a variable of one letter."""
        lines: list[str] = []
        names: list[str] = []  # of variables that are taken
        made: dict[int, str] = {}  # an argument's place → its variable

        def text_of(value: Value, place: int) -> str:
            if isinstance(value, TensorValue):
                names.append(f"{'abcdefghijklmnopqrsuvwxyz'[len(names) % 25]}{len(names) // 25 or ''}")
                lines.append(f"{names[-1]} = {value.expression()}")
                return names[-1]
            if isinstance(value, AliasValue):
                return f"{made.get(value.of, 'None')}{value.window}" if value.of in made else "None"
            if isinstance(value, ListValue):
                inner = ", ".join(text_of(item, place) for item in value.items)
                comma = "," if value.opening == "(" and len(value.items) == 1 else ""
                return f"{value.opening}{inner}{comma}{value.closing}"
            return value.text

        texts = []
        for place, argument in enumerate(self.arguments):
            text = text_of(argument.value, place)
            if isinstance(argument.value, AliasValue) and argument.value.window and text != "None":
                names.append(f"v{len(names)}")
                lines.append(f"{names[-1]} = {text}")
                text = names[-1]
            made[place] = text
            texts.append(text if argument.name is None else f"{argument.name}={text}")
        lines.append(self._call_line(texts))
        body = "\n".join(lines)
        classes = [text for name, text in CLASSES.items() if re.search(rf"\b{name}\b", body)]
        imports = ["import numpy"] if "numpy." in body else []
        return "\n".join([*imports, *classes, body])

    def _call_line(self, texts: list[str]) -> str:
        form, path = self.target.form, self.target.path
        if form == "function":
            return f"result = {path}({', '.join(texts)})"
        if form == "attribute":
            return f"result = {path}"
        if form == "applied":
            return f"result = {path}({', '.join(texts[:1])})({', '.join(texts[1:])})"
        if not texts:
            return f"result = torch.Tensor.{path}"
        owner = texts[0] if re.fullmatch(r"\w+", texts[0]) and not texts[0].isdigit() else f"({texts[0]})"
        if form == "property":
            return f"result = {owner}.{path}"
        if form == "setter":
            return f"{owner}.{path} = {texts[1] if len(texts) > 1 else None}\nresult = {owner}"
        return f"result = {owner}.{path}({', '.join(texts[1:])})"

    @property
    def has_owner(self) -> bool:
        """Whether the first argument is the tensor that a method or an attribute is of."""
        return self.target.form in ("method", "property", "setter")

    def parameter(self, place: int) -> Parameter | None:
        """What an argument is for; None where there is no such parameter."""
        parameters, name = self.target.parameters, self.arguments[place].name
        if name is not None:
            return next((parameter for parameter in parameters if parameter.name == name), None)
        return parameters[place] if place < len(parameters) else None

    def tensors(self) -> Iterator[TensorValue]:
        """All tensors among the arguments."""
        for argument in self.arguments:
            yield from tensors_in(argument.value)

    def devices(self) -> set[str]:
        """Where its tensors lie."""
        found = {tensor.device for tensor in self.tensors()}
        for argument in self.arguments:
            for value in values_in(argument.value):
                if isinstance(value, PlainValue):
                    found |= {name for name in ("npu", "meta") if name in value.text}
        return found

    def moved(self, before: str, after: str) -> Call:
        """The call with its tensors, and what names a device, on another one."""
        arguments = (replace(argument, value=argument.value.moved(before, after)) for argument in self.arguments)
        return replace(self, arguments=tuple(arguments))

    def simpler(self) -> Iterator[Call]:
        """Calls without one of the arguments, then with a simpler one."""
        for i in reversed(range(int(self.has_owner), len(self.arguments))):
            if not any(isinstance(a.value, AliasValue) and a.value.of >= i for a in self.arguments):
                yield replace(self, arguments=self.arguments[:i] + self.arguments[i + 1 :])
        for i, argument in enumerate(self.arguments):
            for value in argument.value.simpler():
                changed = replace(argument, value=value)
                yield replace(self, arguments=(*self.arguments[:i], changed, *self.arguments[i + 1 :]))
