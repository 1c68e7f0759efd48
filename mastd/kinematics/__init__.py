"""The seven links of document 004: geometry, inverse, forward, workspace; pure functions."""
