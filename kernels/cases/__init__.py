"""The cases that a kernel is judged by: one module an op, each with `CASES`.

Their inputs come from a seed, and from plain torch alone: no op has a say in what another one is
asked.

A case names its outputs; everything an op leaves undefined is cut away before it is looked at.
"""
