"""The bench: how close each op comes to what the memory of this GPU allows.

``python -m kernels.bench --help``.
"""
