"""The payload: a full car as a multibody system, integrated by the chord Newton method of document 000."""
