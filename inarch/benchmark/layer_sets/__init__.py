"""The named sets of layers, one file each, found by the file's name: it defines `LAYER_SET`."""
