"""Runs a function on symbols, to learn which positions of which buffers it reads and writes.

`executor` runs the statements; `expressions`, `places`, `calls`, `loops`, `limits` and `paths` hold
the handlers it uses, `accesses` keeps what was read and written, `affine` is the arithmetic.
Nothing is executed.
"""
