"""A Markdown file with blocks that a program writes. The text around them stays.

<!-- bench: TITLE -->
...
<!-- end of bench: TITLE -->
"""


def with_block(text: str, title: str, content: str, program: str = "bench") -> str:
    """The text with the block of a title replaced, or added at the end if there is none.

    Parameters
    ----------
    text : str
        The present content of the file.
    title : str
        The title in the markers of the block.
    content : str
        The new content of the block.
    program : str
        The program that writes the block, as its markers name it.

    Returns
    -------
    str
        The new content of the file.
    """
    first, last = f"<!-- {program}: {title} -->", f"<!-- end of {program}: {title} -->"
    block = f"{first}\n{content.strip()}\n{last}"
    before, marker, rest = text.partition(first)
    if not marker:
        return f"{text.rstrip()}\n\n{block}\n".lstrip()
    inside, end, after = rest.partition(last)
    return before + block + (after if end else "\n" + inside)  # without an end marker, the rest stays
