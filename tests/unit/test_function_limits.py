"""What `scripts/check-functions` counts."""

import ast

import function_limits

PARTS = '''
def f(a, b):
    """Of two

    lines, and a blank one.
    """
    if a and b or not a:
        return [one for one in a if one if b]
    for _ in a:
        pass
    else:
        assert a or b
    try:
        pass
    except ValueError:
        pass
    match a:
        case 1:
            pass
        case _:
            pass

    def inside():
        return 1 if a else 2
'''


def test_lines_and_ways() -> None:
    function = next(ast.walk(ast.parse(PARTS))).body[0]
    assert function_limits.lines(function) == len(PARTS.strip().splitlines()) - 4
    # As radon has it: if, and, or; a comprehension with two conditions; for and its else; an
    # assertion; a handler; one case of two.
    assert function_limits.complexity(function) == 1 + 3 + 3 + 2 + 1 + 1 + 1
    assert function_limits.complexity(function.body[-1]) == 2
