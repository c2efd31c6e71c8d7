"""One expression and statement language for C++, CUDA and Python: a sender and a receiver meet in
the same terms.
"""
