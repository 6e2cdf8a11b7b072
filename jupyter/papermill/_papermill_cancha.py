"""What papermill loads when it starts: the translator, and an engine that brings it along. See papermill_cancha."""
import json
import math
import re

from papermill.engines import NBClientEngine
from papermill.models import Parameter
from papermill.translators import Translator, papermill_translators


class GoTranslator(Translator):
    """Writes values as Go literals: texts, numbers, truth values, nil, and slices and maps of them.

    Names and values come from outside (-p, -y, a file of YAML or JSON) and are data: a name must be one of Go's, and of a
    value's text nothing gets into the cell but what stands in quotes. Who wants an expression of their own runs the notebook
    with "cancha run -p".
    """

    NAME = re.compile(r"[^\W\d]\w*")
    KEYWORDS = frozenset(
        "break case chan const continue default defer else fallthrough for func go goto if import interface map package range "
        "return select struct switch type var".split())

    # name := value // help, or with var, a type and =
    PARAMETER = re.compile(r"^\s*(?:var\s+)?(?P<name>[^\W\d]\w*)\s*(?:(?P<type>[^=:/]+?)\s*)?:?=\s*(?P<value>.*?)\s*(?://\s*(?P<help>.*))?$")

    @classmethod
    def assign(cls, name, str_val):
        if not cls.NAME.fullmatch(name) or name in cls.KEYWORDS:
            raise ValueError(f"{name!r} is no name of a parameter in Go")
        return super().assign(name, str_val)

    @classmethod
    def translate_escaped_str(cls, str_val):
        text = json.dumps(str(str_val), ensure_ascii=False)  # whose escapes are Go's too
        return text.replace("\ufeff", "\\ufeff").replace("\x7f", "\\x7f")

    @classmethod
    def translate_none(cls, val):
        return "nil"

    @classmethod
    def translate_float(cls, val):
        if math.isnan(val):
            return "math.NaN()"
        if math.isinf(val):
            return f"math.Inf({1 if val > 0 else -1})"
        return repr(val)

    @classmethod
    def type_of(cls, val) -> str:
        """Return the Go type that a value has by itself."""
        if isinstance(val, dict):
            return f"map[string]{cls.common(val.values())}"
        if isinstance(val, (list, tuple)):
            return f"[]{cls.common(val)}"
        for kind, name in ((bool, "bool"), (int, "int"), (float, "float64")):
            if isinstance(val, kind):
                return name
        return "any" if val is None else "string"

    @classmethod
    def common(cls, values) -> str:
        """Return the one type that all values have; whole numbers among others that are not are such numbers too."""
        types = {cls.type_of(val) for val in values}
        if types == {"int", "float64"}:
            return "float64"
        return types.pop() if len(types) == 1 else "any"

    @classmethod
    def translate_list(cls, val):
        return f"{cls.type_of(val)}{{{', '.join(cls.translate(v) for v in val)}}}"

    @classmethod
    def translate_dict(cls, val):
        return f"{cls.type_of(val)}{{{', '.join(f'{cls.translate_str(k)}: {cls.translate(v)}' for k, v in val.items())}}}"

    @classmethod
    def comment(cls, cmt_str):
        return f"// {cmt_str}".strip()

    @classmethod
    def inspect(cls, parameters_cell):
        found = [cls.PARAMETER.match(line) for line in parameters_cell["source"].splitlines()]
        return [
            Parameter(name=m["name"], inferred_type_name=m["type"] or "None", default=m["value"], help=m["help"] or "")
            for m in found if m and not m[0].lstrip().startswith("//")
        ]


class CanchaEngine(NBClientEngine):
    """papermill's usual engine: what there is to an engine is the same for Go."""


papermill_translators.register("go", GoTranslator)
papermill_translators.register("cancha", GoTranslator)
