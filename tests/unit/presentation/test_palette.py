from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from sfcperf.presentation import palette

LOOKS = [palette.style(index) for index in range(7)]
GROUNDS = {"colour": "#ffffff", "dark": "#12161c"}

# Machado, Oliveira, Fernandes, IEEE TVCG 15 (6), 2009: severity 1, on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
LEAST = {"normal": 0.15, "protanopia": 0.1, "deuteranopia": 0.1, "tritanopia": 0.09}
"""Distances in OKLab, in which about 0.02 is just noticeable."""


def linear(colour: str) -> np.ndarray:
    srgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    """B. Ottosson, "A perceptual color space for image processing", 2020."""
    cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.array(lab) @ np.cbrt(np.array(cones) @ rgb)


def nearest(colours: Sequence[str], sight: str) -> float:
    seen = [oklab(np.clip(SIGHT[sight] @ linear(one), 0, 1)) for one in colours]
    return min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2))


def test_the_measure() -> None:
    """Known values; and colours that a reader mistook for each other."""
    assert oklab(linear("#ffffff")) == pytest.approx([1, 0, 0], abs=1e-3)
    assert oklab(linear("#ff0000")) == pytest.approx([0.628, 0.225, 0.126], abs=1e-3)
    assert nearest(["#d55e00", "#a97400"], "protanopia") < 0.03
    assert nearest(["#0072b2", "#2b88b8"], "normal") < 0.07


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("ground", GROUNDS)
def test_colours_can_be_told_apart(ground: str, sight: str) -> None:
    assert nearest([getattr(look, ground) for look in LOOKS], sight) >= LEAST[sight]


@pytest.mark.parametrize(("ground", "behind"), GROUNDS.items())
def test_contrast_to_the_ground(ground: str, behind: str) -> None:
    """WCAG 2.2, 1.4.11: at least 3:1."""
    for look in LOOKS:
        lights = [linear(c) @ [0.2126, 0.7152, 0.0722] for c in (getattr(look, ground), behind)]
        assert (max(lights) + 0.05) / (min(lights) + 0.05) >= 3, look


def test_styles_differ_without_colour() -> None:
    for cue in ("colour", "dark", "marker", "line", "dash", "hatch", "symbol"):
        assert len({getattr(look, cue) for look in LOOKS}) == len(LOOKS), cue
    all_of_them = {(s.colour, s.marker) for s in map(palette.style, range(49))}
    assert len(all_of_them) == 49
    assert palette.style(7).colour == LOOKS[0].colour
