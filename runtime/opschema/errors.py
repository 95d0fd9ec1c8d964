"""The one error of this package."""

from __future__ import annotations


class SchemaError(RuntimeError):
    """A schema that does not parse, or that breaks a rule of the grammar.

    ``offset`` and ``length`` count characters of ``text``. ``part`` names what is at fault where a rule about the whole
    schema is broken: ``("name", 0)``, ``("argument", i)`` or ``("return", i)``; ``other`` is a second part that it is
    about, and ``also`` the offset and length of that. PyTorch raises ``RuntimeError`` here.
    """

    def __init__(
        self,
        message: str,
        offset: int = 0,
        length: int = 1,
        hint: str | None = None,
        *,
        text: str | None = None,
        part: tuple[str, int] | None = None,
        other: tuple[str, int] | None = None,
        also: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message, offset, length, hint)
        self.message = message
        self.offset = offset
        self.length = length
        self.hint = hint
        self.text = text
        self.part = part
        self.other = other
        self.also = also

    def moved(
        self, offset: int, text: str | None = None, length: int | None = None, also: tuple[int, int] | None = None
    ) -> SchemaError:
        """The same fault, ``offset`` characters further right in the longer ``text``."""
        length = self.length if length is None else length
        at = self.offset + offset
        return SchemaError(self.message, at, length, self.hint, text=text, part=self.part, other=self.other, also=also)

    def __str__(self) -> str:
        hint = f" {self.hint}" if self.hint else ""
        if self.text is None:
            return f"{self.message}{';' if hint else ''}{hint}"
        return f"{self.message}\n  {self.text}\n  {' ' * self.offset}{'^' * max(self.length, 1)}{hint}"
