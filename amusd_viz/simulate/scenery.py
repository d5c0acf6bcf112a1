"""What imaginary models write: one sentence after the other, so that runs read as text."""

_PROSE = """
The sky looks blue because air scatters short waves far more than long ones . At noon the light that
reaches us from all around is blue , while the sun itself looks a little yellow . In the evening the
light has a longer way to go , so that most of the blue is lost , and what is left is orange and red
. A planet without air has a black sky , even in the middle of the day .
"""

SENTENCE = tuple(word if word in {".", ","} else f" {word}" for word in _PROSE.split())
"""Words of the target, in their order."""
