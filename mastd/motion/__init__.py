"""What the table should do: profile compiler, waveforms, preflight."""
