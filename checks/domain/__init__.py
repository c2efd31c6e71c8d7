"""What a serving engine is made of, as far as several rules ask for it.

Device ops and their calls: `ops`, `calls`. Messages between processes: `messages`,
`message_roles`, `struct_layouts`, `cpp_places`, `bitfields`. Tensors, and the names under which a
batch holds them: `tensors`, `keys`, `indices`. Copies of one thing for different hardware:
`siblings`, `hardware_reach`, and what a change did to one and not to the others: `copies`. Changed
functions and words in them: `source_search`. What a change consists of: `change_facts`,
`impact_tags`. What a condition says: `conditions`, `speculative_mode`. Tests with stored logprobs:
`baselines`.

Nothing here judges: that is for `checks.rules`.
"""
