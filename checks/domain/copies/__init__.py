"""Copies of one function, on another hardware or in another file: what a change did to one of them,
what that does, and which of the others it leaves behind."""
