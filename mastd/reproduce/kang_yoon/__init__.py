"""Tables of Kang and Yoon: independent coordinates by velocity transformation."""
