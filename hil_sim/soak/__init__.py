"""The soak: random profiles, commands and faults in virtual time, with invariants after every cycle."""
