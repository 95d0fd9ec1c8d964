"""Faults of expressions."""

from __future__ import annotations

from mtcodegen.findings.codes import Code


class ExpressionError(ValueError):
    """A fault in an expression; ``offset`` and ``length`` count characters of its text."""

    def __init__(
        self, message: str, offset: int, length: int, hint: str | None = None, code: Code = Code.MT200
    ) -> None:
        super().__init__(message, offset, length, hint, code)
        self.message = message
        self.offset = offset
        self.length = max(length, 1)
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return f"{self.message} (at {self.offset}){'; ' + self.hint if self.hint else ''} [{self.code}]"
