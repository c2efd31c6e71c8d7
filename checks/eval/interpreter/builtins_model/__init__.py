"""What the interpreter knows of Python's builtins, array libraries and mocks.

A model gives the result where the arguments determine it, and an unknown value otherwise. It raises
`SimulatedException` where Python certainly would.
"""
