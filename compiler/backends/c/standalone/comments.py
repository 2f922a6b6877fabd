"""Comments of exported files: text of the user's that cannot end them, or make the next line one."""

from ..layout import comment_line

WIDTH = 110


def paragraph(text: str) -> str:
    """Text as comments, its lines as they are."""
    return "\n".join(comment_line(plain(line)) for line in text.expandtabs().strip("\n").split("\n"))


def plain(text: str) -> str:
    """The line without what is not shown, such as characters that turn the direction of writing.

    >>> plain("cost\\u202e; really")
    'cost; really'
    """
    return "".join(letter for letter in text if letter.isprintable())


def without_trigraphs(text: str) -> str:
    r"""C11 reads ``??/`` as a backslash, in comments too; no code of ours has two question marks in turn.

    >>> without_trigraphs("// what??/")
    '// what? ?/'
    """
    while "??" in text:
        text = text.replace("??", "? ?")
    return text
