"""Several values packed into one integer by shift and OR, and what readers take out again.

`packing` and `reading` recognise both in one function. `packed_words` follows a word from its
senders through a message to its readers, of which `python_words` finds those in a Python class.
`ranges` asks whether a value can spill over its field, `roundtrip` whether a reader gets back what
was put in; both ask the solver where the answer is not plain (`int_types` gives the types).
"""
