"""Commands in comments: what is one, what each does, and the one answer that it gets."""
