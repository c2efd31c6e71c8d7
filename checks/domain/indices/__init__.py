"""What an index into a buffer means to each op that uses it: the last token's position, or a count.

`relevance` finds what of a change has to do with an index. `op_index` knows the ops and what their
code does with it, and `function_lookup` the functions that this code calls. `buffers` follows what
each call passes, and `conventions` puts the three together.
"""
