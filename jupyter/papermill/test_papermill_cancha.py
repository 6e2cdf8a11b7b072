"""Tests of the translator by itself; scripts/clients.py runs it in papermill with a kernel."""
import re
import unittest

from papermill_cancha import GoTranslator


class TranslatorTests(unittest.TestCase):
    def test_values(self):
        for value, want in [
            ("a", '"a"'), ('"\\\n\t\x00é𝔊\ufeff', '"\\"\\\\\\n\\t\\u0000é𝔊\\ufeff"'), ("", '""'),
            (5, "5"), (-5, "-5"), (1.5, "1.5"), (1e300, "1e+300"), (True, "true"), (None, "nil"),
            (float("inf"), "math.Inf(1)"), (float("-inf"), "math.Inf(-1)"), (float("nan"), "math.NaN()"),
            ([1, 2], "[]int{1, 2}"), ([1, 2.5], "[]float64{1, 2.5}"), (["a", 1], '[]any{"a", 1}'), ([], "[]any{}"),
            ([[1], [2, 3]], "[][]int{[]int{1}, []int{2, 3}}"), ({"a": True}, 'map[string]bool{"a": true}'),
            ({"a": 1, "b": "x"}, 'map[string]any{"a": 1, "b": "x"}'), ([None, 1], "[]any{nil, 1}"),
        ]:
            self.assertEqual(GoTranslator.translate(value), want)

    def test_cell(self):
        self.assertEqual(GoTranslator.codify({"data": "x", "n": 3}), '// Parameters\ndata = "x"\nn = 3\n')

    def test_nothing_becomes_code(self):
        for name in ["x = 1; os.Exit(3); y", "x\nos.Exit(3)\ny", "x.y", "x[0]", "", "3x", "func", "x ", "x\n"]:
            with self.assertRaises(ValueError, msg=name):
                GoTranslator.codify({name: 1})
        for text in ['"+os.Getenv("HOME")+"', "`", "\n!ls\n%get x", "\\", "\u2028", 'x"\n//']:
            for value in [text, [text], {text: text}]:
                line = GoTranslator.translate(value)
                self.assertNotIn("\n", line)
                rest = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)  # without what stands in quotes
                self.assertRegex(rest, r"^(\[\]|map\[string\]|string|[{}: ])*$")

    def test_inspect(self):
        cell = {"source": '// all of them\ndata := ""    // folder\nmatches := 20\nvar rate float64 = 0.5 // a second\nvar seed = 1\n'}
        got = [(p.name, p.inferred_type_name, p.default, p.help) for p in GoTranslator.inspect(cell)]
        self.assertEqual(got, [("data", "None", '""', "folder"), ("matches", "None", "20", ""),
                               ("rate", "float64", "0.5", "a second"), ("seed", "None", "1", "")])


if __name__ == "__main__":
    unittest.main()
