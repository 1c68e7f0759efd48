"""Models that only the papers use: chains of links."""
