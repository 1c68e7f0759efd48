"""The soak: seeded random profiles, commands and faults in virtual time, with invariants after every cycle."""
