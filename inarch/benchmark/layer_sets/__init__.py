"""The named sets of layers, one file each, found by the file's name: JSON, or it defines `LAYER_SET`."""
