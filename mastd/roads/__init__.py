"""Road surfaces under the wheels."""
