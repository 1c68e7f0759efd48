"""Drive-file iteration: a drive is corrected from play to play until the responses are those of the target.

A *drive* is the pose of C at every millisecond of a profile, a *response* anything that is recorded while it
plays, the *target* what the responses should be. The frequency response matrix from the drive's
accelerations to the responses, measured once with band noise, says how to correct the drive for what is
missing. ``learning`` has one step as pure functions, ``driver`` the whole of it around a callable that plays
a profile and gives back its record.
"""
