"""Machines by name, one file each; `inarch.machine.machine` says what is in them."""
