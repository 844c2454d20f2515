"""rapidocr-onnxruntime: finds three lines of text in an image, turns them, and reads them."""

import cv2
import numpy as np
from rapidocr_onnxruntime import RapidOCR
from timed import timed

image = np.full((240, 480, 3), 255, np.uint8)
for row, text in enumerate(["Inarch compiles models", "onnxruntime 1.32", "Hello OCR 2026"]):
    place = (20, 60 + 70 * row)
    cv2.putText(image, text, place, cv2.FONT_HERSHEY_SIMPLEX, 1.0, (0, 0, 0), 2)

engine = RapidOCR()
timed(
    lambda: engine(image)[0],
    lambda lines: [[list(map(list, box)), text, float(score)] for box, text, score in lines],
)
