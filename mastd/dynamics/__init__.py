"""The table's nominal model: inverse dynamics with payload, oil flow and oil stiffness."""
