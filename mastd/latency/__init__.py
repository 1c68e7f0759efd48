"""What rate this machine can hold: measuring, reading what the system says of itself, and judging both.

``wakeup`` and ``stalls`` measure, ``machine`` reads, ``judge`` and ``advice`` are pure functions of what they
have found, ``text`` makes the page.
"""
