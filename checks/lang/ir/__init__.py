"""The intermediate form: one expression and statement language for C++, CUDA and Python.

A sender in one language and a receiver in the other meet in the same terms.
"""
