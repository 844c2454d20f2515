"""How compiled programs run: `module.load` opens an artifact and gives functions on arrays.

Nothing here knows the compiler: a program runs with NumPy, cffi and this folder.
"""
