"""Compiled code only: arrays in, arrays out.

`jit.py` compiles, `store.py` keeps what was compiled, `target.py` tells for which processors.
"""
