"""Where the lines of a service's log go, whichever of its processes writes them."""
