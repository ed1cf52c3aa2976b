"""Pictures that are dropped: each with other bytes, some the same again, a few damaged."""
import dataclasses
import hashlib
import io
import random

from PIL import Image

# Different pictures; the others are one of these with a comment of their own.
BASES = 40
DUPLICATES, DAMAGED, SLOW = 0.1, 0.005, 0.01


@dataclasses.dataclass
class Drop:
    """A file that is dropped: its path, its bytes, which picture they show, and whether they are half of one."""
    path: str
    content: bytes
    base: int
    is_damaged: bool
    # Whether it is written where it is watched, with pauses, instead of renamed there.
    is_slow: bool
    digest: str = ""
    # In nanoseconds, once it was written.
    modified: int = 0

    def __post_init__(self):
        self.digest = hashlib.sha256(self.content).hexdigest()


def drops(count, seed):
    """The files of a round, one after the other."""
    choose = random.Random(f"pictures {seed}")
    bases = [base(choose) for _ in range(BASES)]
    # Some that may come once more.
    past = []
    for index in range(count):
        path = f"{index:06}.jpg" if choose.random() < 0.7 else f"folder-{choose.randrange(9)}/{index:06}.jpg"
        is_slow = choose.random() < SLOW
        if past and choose.random() < DUPLICATES:
            first = choose.choice(past)
            yield Drop(path, *first, is_slow)
            continue
        number = choose.randrange(BASES)
        comment = f"{seed} {index}".encode()
        content = bases[number][:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + bases[number][2:]
        is_damaged = index == count // 2 or choose.random() < DAMAGED
        picture = (content[:len(content) // 2] if is_damaged else content, number, is_damaged)
        if len(past) < 1000:
            past.append(picture)
        else:
            past[choose.randrange(1000)] = picture
        yield Drop(path, *picture, is_slow)


def base(choose):
    """A JPEG of some kilobytes, of random coarse colours."""
    small = Image.frombytes("RGB", (8, 6), choose.randbytes(8 * 6 * 3))
    output = io.BytesIO()
    small.resize((240, 180), Image.Resampling.BICUBIC).save(output, "JPEG", quality=85)
    return output.getvalue()
