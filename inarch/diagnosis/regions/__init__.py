"""Each region of a backend alone, on what enters it in the model: compared, cut down, written as a folder."""
