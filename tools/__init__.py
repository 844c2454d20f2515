"""The commands: `inarch-opt` (`opt.py`) and `inarch` (`cli.py`), thin layers over the library.

A command is a module with `run(argv, stdin)`, which returns its exit code, stdout and stderr and
leaves nothing behind in the process, and `main()`, the console script. Tests: `tests/lit/tools/`.
"""
