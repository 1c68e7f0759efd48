"""Real-time control daemon for a hydraulic multi-axis shaking table."""
