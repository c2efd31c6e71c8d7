"""Who is called, with what, and what comes back: contracts between the calls of a program and what
they reach.

`classes` has the classes of one side of a change with what they inherit, `types` the class of an
expression, `targets` the functions that a call reaches, `binding` whether its arguments fit,
`labels` and `other_calls` whether they are in their places, `sites` the calls that a change may
have broken, `handed_over` those that another call makes, `attributes` what objects of a class have,
`renamed_fields` what they had under another name, `returns` how many values come back.
"""
