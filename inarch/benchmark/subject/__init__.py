"""What is measured of ours: layers and their steps, compiled."""
