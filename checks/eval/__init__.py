"""Values of code that is not run: constants, linear forms, a test's course, buffer positions.

- `constants`: the value of a name or an expression, across files and both languages.
- `integers`: the integers of C, with their types. `linear`: sums in a canonical form.
- `interpreter`: follows one Python test with concrete values, to predict that it fails.
- `symbolic`: follows a C++ or Python function with unknowns, to find which positions it touches.
"""
