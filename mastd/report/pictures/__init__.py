"""Pictures of a page: motion, cycle times, spectra."""
