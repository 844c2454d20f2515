"""BERT-base on 384 tokens, as questions about texts are answered."""

from __future__ import annotations

from functools import partial

from bert_base import build
from model_builder import main

if __name__ == "__main__":
    main(partial(build, sequence=384))
