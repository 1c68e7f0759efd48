"""The payload: a full car as a multibody system, integrated by the chord Newton method of Kang 2014."""
