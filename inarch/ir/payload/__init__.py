"""The numbers of constants: apart from the program's text, in files, mapped, made when they are needed."""
