"""Who is called, with what, and what comes back: contracts between the calls of a program and what
they reach.

`classes` has the classes of one side of a change with what they inherit, `types` the class of an
expression, `targets` the functions that a call reaches, `binding` whether its arguments fit,
`labels` whether they are in their places, `sites` the calls that a change may have broken,
`attributes` what objects of a class have, `returns` how many values come back.
"""
