"""Counting of arithmetic operations of the kernels."""
