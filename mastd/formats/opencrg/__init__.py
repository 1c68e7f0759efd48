"""OpenCRG road surfaces."""
