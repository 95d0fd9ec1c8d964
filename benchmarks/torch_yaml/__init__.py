"""PyTorch's own YAML files as wholes: read, looked into, and printed back, beside PyTorch."""

from benchmarks.torch_yaml.corpus import Corpus, read_corpus
from benchmarks.torch_yaml.forward import ForwardInputs, forward_inputs
from benchmarks.torch_yaml.saved import SavedValue, saved_values, scope_of
from benchmarks.torch_yaml.write import derivatives_text, native_function_text

__all__ = [
    "Corpus",
    "ForwardInputs",
    "SavedValue",
    "derivatives_text",
    "forward_inputs",
    "native_function_text",
    "read_corpus",
    "saved_values",
    "scope_of",
]
