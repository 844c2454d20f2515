"""What programs are made of, below any dialect: text, verification, types, constants, scalars."""
