"""The rules, one folder for each family and one module for each rule.

A module is named after its rule's id and satisfies `checks.core.check.Check`; its docstring is the
rule's page. A module that begins with `_` is shared by the rules of its family. A rule never
imports another family: what families share is in `checks.domain`.
"""
