"""MTS files: RPC III time histories and binary exports."""
