"""What changed, as data: one module for each kind of change, from whole functions to single words.

Functions called `find_...` and `replacements_of_...` compare the two sides of the change; the
package `checks.summary.claims` makes sentences of what they find.
"""
