"""Several values packed into one integer by shift and OR, and what readers take out again.

`expressions` recognises packing and reading in one function, `packed_words` follows a word from its
senders through a message to its readers. `ranges` asks whether a value can spill over its field,
`roundtrip` whether a reader gets back what was put in; both fall back on the solver.
"""
