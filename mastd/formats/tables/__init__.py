"""Tables of columns: CSV and Parquet."""
