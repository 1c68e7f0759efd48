"""Payload in the loop: vehicles in HILS and OILS, driven by the daemon or by a rig."""
