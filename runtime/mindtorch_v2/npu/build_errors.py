"""The error of a kernel library that could not be built."""


class BuildError(RuntimeError):
    """A kernel library could not be built; the message holds the compiler's output at the source's lines."""
