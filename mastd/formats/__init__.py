"""One module per file format, reader and writer together."""
