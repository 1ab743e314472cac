"""The kernels in plain NumPy, written to be obviously right: the same files, names and signatures as one folder above.

Tests compare the two. Where a kernel fills a buffer of its caller's (a hash table, `chosen`, `scratch`), only what its
docstring promises is the same.
"""
