"""`inarch-run`: artifacts run from a shell without Python; C, which `inarch config --install` compiles."""
