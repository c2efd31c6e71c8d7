"""Copies that must move together: runners, ops, signatures and keys, across hardware and
languages.
"""
