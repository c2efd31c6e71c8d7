"""The value of a name or an expression, where the source says it for certain.

`lookup.Constants` is the way in. `resolver` evaluates definitions, which `definitions` and `scope`
find; `evaluate` computes, by the rules of `python_values` or `c_values`. `files` finds the files
that an include or an import means.
"""
