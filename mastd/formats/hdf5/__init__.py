"""HDF5 and MATLAB 7.3 files."""
