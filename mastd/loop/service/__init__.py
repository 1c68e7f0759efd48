"""Service: generations, records, journal, shutdown record, single run."""
