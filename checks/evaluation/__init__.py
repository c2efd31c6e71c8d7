"""How good the rules are.

`labels` compares findings with labelled cases; `fixes` says what a bug fix tells of the change that
brought the bug, `code_lines` which lines of a file are code, and `fix_score` how many of those
bugs the findings come near, with the intervals of `intervals`.
"""
