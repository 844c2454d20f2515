"""Compiled functions inside other frameworks: `inarch.bridges.<framework>`, a file or a folder each.

Nothing of a framework is imported before a bridge to it is asked for, and no library of ours is linked
with one: each side works without the other, and the bridge is there when both are.
"""
