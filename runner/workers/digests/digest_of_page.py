"""Digests as docs/design/protocol.md says them, word by word: for the tests of both workers."""

BLOCK = 1 << 16
_ONES = (1 << 64) - 1


def _mix(z, first, one, second, two, last):
    z = (z ^ z >> first) * one & _ONES
    z = (z ^ z >> second) * two & _ONES
    return z ^ z >> last


def mix_a(z):
    return _mix(z, 30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31)


def mix_b(z):
    return _mix(z, 33, 0xFF51AFD7ED558CCD, 33, 0xC4CEB9FE1A85EC53, 33)


def digest(block):
    """Both halves of the digest of at most a block of bytes."""
    a = b = 0
    for i in range(0, len(block), 8):
        word, place = int.from_bytes(block[i : i + 8], "little"), i // 8 + 1
        a += mix_a(word + place * 0x9E3779B97F4A7C15 & _ONES)
        b += mix_b(word + place * 0xD1342543DE82EF95 & _ONES)
    return mix_a(a + len(block) & _ONES), mix_b(b + len(block) & _ONES)


def text_of(data):
    """`digests` of a known storage."""
    return "".join(
        f"{half:016x}"
        for at in range(0, len(data), BLOCK)
        for half in digest(data[at : at + BLOCK])
    )
