"""Draws JPEG pictures with capture times, and films, as the tests of the pages need them."""

import datetime
import pathlib
import random
import subprocess

from PIL import Image, ImageDraw

SHAPES = [(900, 600), (600, 900), (800, 800), (1200, 500)]
WITH_MARKUP = "<script>alert(1)<script>.jpg"


def draw(path, taken, size=None, seed=None):
    """Draws one picture. Without `seed`, no other has the same bytes."""
    choose = random.Random(seed)
    width, height = size or choose.choice(SHAPES)
    picture = Image.new("RGB", (width, height), color(choose))
    pen = ImageDraw.Draw(picture)
    for _ in range(6):
        left, right = sorted(choose.randint(0, width) for _ in range(2))
        top, bottom = sorted(choose.randint(0, height) for _ in range(2))
        pen.rectangle([left, top, right, bottom], fill=color(choose))
    exif = Image.Exif()
    # DateTimeOriginal is in the Exif directory.
    exif[0x8769] = {0x9003: taken.strftime("%Y:%m:%d %H:%M:%S")}
    picture.save(path, "JPEG", exif=exif)


def color(choose):
    return tuple(choose.randint(0, 255) for _ in range(3))


def film(path, codec):
    """Makes a film of two seconds, of 320 x 180 pixels."""
    subprocess.run(
        ["ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi"]
        + ["-i", "testsrc=size=320x180:rate=10:duration=2", "-pix_fmt", "yuv420p"]
        + ["-c:v", codec, path],
        check=True,
    )


def fill(folder, count):
    """Draws `count` pictures of several days, one of them large and one whose name is markup, makes
    films that Chromium can play and one that it can't, and adds a file that can't be read as a picture."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    choose = random.Random(1)
    day = datetime.datetime(2024, 5, 1, 9)
    for number in range(count):
        if choose.random() < 0.2:
            day += datetime.timedelta(days=choose.randint(1, 9))
        name = WITH_MARKUP if number == 7 else f"picture-{number:04}.jpg"
        size = (4000, 3000) if number == count - 1 else None
        draw(folder / name, day + datetime.timedelta(minutes=number), size, seed=number)
    film(folder / "film.mp4", "libx264")
    film(folder / "film.mov", "libx264")
    film(folder / "film.webm", "libvpx")
    film(folder / "film.avi", "mpeg4")
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(200))
