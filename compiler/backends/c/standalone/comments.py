"""Comments of exported files: the user's text must not end them or continue onto the next line."""

from ..layout import comment_line

WIDTH = 110


def paragraph(text: str) -> str:
    """Text as comments, with its own lines."""
    return "\n".join(comment_line(plain(line)) for line in text.expandtabs().strip("\n").split("\n"))


def plain(text: str) -> str:
    """The line without invisible characters, such as those that change the direction of writing.

    >>> plain("cost\\u202e; really")
    'cost; really'
    """
    return "".join(letter for letter in text if letter.isprintable())


def without_trigraphs(text: str) -> str:
    r"""C11 reads ``??/`` as a backslash, also in comments; generated code never has two consecutive question marks.

    >>> without_trigraphs("// what??/")
    '// what? ?/'
    """
    while "??" in text:
        text = text.replace("??", "? ?")
    return text
