"""Runs Cython as ``python -m cython`` does, a fifth quicker: it builds one large tree, with no cycles to look for."""

import gc

from Cython.Compiler.Main import setuptools_main

if __name__ == "__main__":
    gc.disable()
    setuptools_main()
