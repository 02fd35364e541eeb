"""The host's side of the radio lab."""
