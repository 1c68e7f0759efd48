"""`mastd ctl watch` on a terminal: what is shown is made by pure functions, apart from keys and connections.

``reading`` takes values out of a status, ``view`` is all that is shown, ``sections``, ``actuator_rows`` and
``screen`` make lines of text of it. ``painter`` and ``terminal`` bring them to the screen, ``keys`` cuts what
is typed, ``connections`` speaks with the daemon, ``board`` is what the threads tell each other, ``session``
holds them together.
"""
