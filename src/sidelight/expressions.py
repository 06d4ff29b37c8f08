"""Reading expressions written as text: Python's syntax, but only names, calls and operators that are offered.

Used for column expressions and rules in files and on the command line. Nothing is executed but the methods and
operators of the offered objects; names with a leading underscore, keywords and lambdas are refused.
"""

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from .errors import DataError, did_you_mean
from .quoting import quoted

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.RShift: operator.rshift,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.NotEq: operator.ne,
}
# What Python has and the language has not, and what is written instead.
_INSTEAD: dict[type[ast.AST], str] = {
    ast.And: "for `and` write &, with brackets around both sides: (a) & (b)",
    ast.Or: "for `or` write |, with brackets around both sides: (a) | (b)",
    ast.Not: "for `not` write ~, with brackets: ~(a)",
    ast.In: 'for `in` write .isin(...), as in word.isin("pp", "pages")',
    ast.NotIn: 'for `not in` write ~ and .isin(...), as in ~word.isin("pp", "pages")',
    ast.IfExp: "for `if` write >>, which says that one rule implies another: (a) >> (b)",
}


class ExpressionError(DataError):
    """A text that is not an expression of the language; `column` counts from 1."""

    def __init__(self, text: str, column: int, message: str) -> None:
        super().__init__(f"cannot read the expression {quoted(text)}, column {column}: {message}")
        self.text, self.column, self.message = text, column, message


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression over the given names."""
    line = text.strip().replace("\n", " ")
    indent = len(text) - len(text.lstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about "\\d", which is what it says
            tree = ast.parse(line, mode="eval")
        return _Reader(text, line, indent, names).value(tree.body)
    except SyntaxError as error:
        raise ExpressionError(text, indent + (error.offset or 1), error.msg) from None
    except (RecursionError, MemoryError):
        raise ExpressionError(text, 1, "it is nested too deeply") from None
    except DataError:
        raise
    except ValueError as error:  # a null character
        raise ExpressionError(text, 1, str(error)) from None


class _Reader:
    def __init__(self, text: str, line: str, indent: int, names: Mapping[str, Any]) -> None:
        self.text, self.line, self.indent, self.names = text, line, indent, names

    def fail(self, node: ast.expr, message: str) -> ExpressionError:
        before = self.line.encode()[: node.col_offset].decode()  # Python counts bytes
        return ExpressionError(self.text, self.indent + len(before) + 1, message)

    def value(self, node: ast.expr) -> Any:
        try:
            return self._value(node)
        except ExpressionError:
            raise
        except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
            raise self.fail(node, str(error)) from None

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(str() | int() | float() as constant):
                return constant
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as constant)):
                return -constant
            case ast.List(items) | ast.Tuple(items):
                return [self.value(item) for item in items]
            case ast.Name(name):
                if name not in self.names:
                    hint = did_you_mean(name, self.names) or f"; there are {', '.join(self.names)}"
                    raise self.fail(node, f"{quoted(name)} is not known here{hint}")
                return self.names[name]
            case ast.Attribute(inner, name):
                method = self._attribute(node, self.value(inner), name)
                return method() if callable(method) else method
            case ast.Call(ast.Attribute(inner, name) as at, arguments, []):
                return self._attribute(at, self.value(inner), name)(*map(self._argument, arguments))
            case ast.Call(ast.Attribute(_, name), _, _):
                raise self.fail(node, f".{name} takes no named arguments")
            case ast.Call(function, arguments, keywords):
                if any(k.arg is None for k in keywords):
                    raise self.fail(node, "** is not part of the language")
                named = {str(k.arg): self.value(k.value) for k in keywords}
                return self.value(function)(*map(self._argument, arguments), **named)
            case ast.Subscript(inner, index):
                return self.value(inner)[self.value(index)]
            case ast.UnaryOp(ast.Invert(), inner):
                value = self.value(inner)
                if isinstance(value, str | int | float | list):
                    raise self.fail(node, f"~ is for rules and conditions, got {quoted(value)}")
                return ~value
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                a, b = self.value(left), self.value(right)
                if isinstance(a, str | list) or isinstance(b, str | list):
                    raise self.fail(node, "text and lists cannot be combined by operators")
                return _BINARY[type(op)](a, b)
            case ast.Compare(left, [op], [right]) if type(op) in _COMPARE:
                return _COMPARE[type(op)](self.value(left), self.value(right))
            case ast.Compare(_, [_, _, *_], _):
                raise self.fail(node, "comparisons cannot be chained: write brackets, as in (a >= 1) & (b <= 3)")
        raise self.fail(node, _instead(node) or f"{quoted(ast.unparse(node))} is not part of the language")

    def _argument(self, node: ast.expr) -> Any:
        """The value of an argument. A name that is not known is most likely a label or a word without its quotes."""
        if isinstance(node, ast.Name) and node.id not in self.names:
            hint = did_you_mean(node.id, self.names)
            raise self.fail(
                node, f"{quoted(node.id)} is not known here; labels and words are written in quotes: {node.id!r}{hint}"
            )
        return self.value(node)

    def _attribute(self, node: ast.expr, owner: Any, name: str) -> Any:
        offered: frozenset[str] = getattr(type(owner), "readable", frozenset())
        if name not in offered:
            known = ", ".join(f".{n}" for n in sorted(offered)) or "no methods"
            hint = did_you_mean(f".{name}", [f".{n}" for n in offered]) or f"; it has {known}"
            raise self.fail(node, f"{quoted(owner)} has no .{name}{hint}")
        return getattr(owner, name)


def _instead(node: ast.expr) -> str:
    """What is written instead of something of Python that is not part of the language; empty if that is not known."""
    match node:
        case ast.BoolOp(op) | ast.UnaryOp(op) | ast.Compare(_, [op]):
            return _INSTEAD.get(type(op), "")
    return _INSTEAD.get(type(node), "")
