"""Spring-dampers: a force along the line between two bodies' points, by any number of laws."""
