"""Engines' own interfaces served by these kernels; each module needs its engine only when it is
installed into it."""
