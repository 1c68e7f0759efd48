"""Loading of profiles and settings in processes beside the loop."""
