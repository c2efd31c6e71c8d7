"""What is asked of the workers: one class for each kind of work, stored as JSON in a queue.

Each makes a `JobRequest`, the durable workflow that does it; the same request twice is one.
"""
