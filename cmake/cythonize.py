"""Runs Cython as ``python -m cython`` does, a fifth quicker: it builds one large tree, in which no cycle has to be looked for."""

import gc

from Cython.Compiler.Main import setuptools_main

if __name__ == "__main__":
    gc.disable()
    setuptools_main()
