"""A Markdown file of which only some blocks are written by a program: what people wrote around them stays.

<!-- bench: TITLE -->
...
<!-- end of bench: TITLE -->
"""


def with_block(text: str, title: str, content: str) -> str:
    """The text with the block of a title replaced, or added at the end where there is none yet.

    Parameters
    ----------
    text
        The file as it is.
    title
        What the markers of the block say.
    content
        What is to stand between them.
    """
    first, last = f"<!-- bench: {title} -->", f"<!-- end of bench: {title} -->"
    block = f"{first}\n{content.strip()}\n{last}"
    before, marker, rest = text.partition(first)
    if not marker:
        return f"{text.rstrip()}\n\n{block}\n".lstrip()
    inside, end, after = rest.partition(last)
    return before + block + (after if end else "\n" + inside)  # without an end nothing is known to be ours
