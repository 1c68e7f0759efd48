"""Speeds as medians and ratios of one run."""
