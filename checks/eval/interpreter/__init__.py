"""What a Python test would do, computed without running it.

An abstract interpreter over the common IR: numbers, strings, lists, dicts, objects and array shapes
are exact where the code determines them and `UNKNOWN` where it does not. It never guesses: what
depends on something unknown is unknown, and an exception counts only when every path leads to it.
"""
