"""Kernels for NVIDIA GPUs: CUDA sources, what launches them through CuPy, and their NumPy twins.

Arrays and numbers only, as in `kernels/`. CuPy is imported when a GPU is first used. With the environment variable
ELECTORATE_CUDA=reference the twins stand in for a GPU: slow, for tests and debugging on machines without one.
"""
