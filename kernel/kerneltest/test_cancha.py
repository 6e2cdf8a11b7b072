"""The reference suite, jupyter_kernel_test 0.7, on Cancha.

The suite skips a test silently whose sample is missing, and waits without end for some replies. So every sample is here, and
run as a program this file fails when anything was skipped, when fewer tests ran than the suite has, and after five minutes:

    python test_cancha.py

The kernelspec must be installed under the name "cancha" (or the one in CANCHA_KERNEL_NAME).
"""
import faulthandler
import os
import sys
import unittest

import jupyter_kernel_test as jkt

KERNEL = os.environ.get("CANCHA_KERNEL_NAME", "cancha")
DISPLAY = 'import "cancha/runtime/display"\n'


class CanchaTests(jkt.KernelTests):
    kernel_name = KERNEL
    language_name = "go"
    file_extension = ".go"

    code_hello_world = 'fmt.Println("hello, world")'
    code_stderr = 'fmt.Fprintln(os.Stderr, "x")'

    completion_samples = [
        {"text": "fmt.Printl", "matches": {"Println"}},
        {"text": "strings.ToUpperS", "matches": {"ToUpperSpecial"}},
    ]

    complete_code_samples = [
        "1 + 2",
        'fmt.Println("hello, world")',
        "func double(x int) int {\n\treturn 2 * x\n}",
        "for i := 0; i < 3; i++ {\n}",
        "/* a comment */ x := 1",
        "s := `two\nlines`",
    ]
    incomplete_code_samples = [
        "for i := 0; i < 3; i++ {",
        "func double(x int) int {",
        "s := `open",
        "/* open",
        "x :=",
        "fmt.Println(1,",
    ]
    invalid_code_samples = ["import = 7q", "x := )", 's := "open']

    code_page_something = "?fmt.Println"
    code_generate_error = 'panic("boom")'

    code_execute_result = [
        {"code": "1 + 2 + 3", "result": "6"},
        {"code": '"go" + "pher"', "result": '"gopher"'},
        {"code": "len([]int{1, 2})", "result": "2"},
    ]
    code_display_data = [
        {"code": DISPLAY + 'display.Show(display.HTML("<b>x</b>"))', "mime": "text/html"},
        {"code": DISPLAY + 'display.Show(display.Markdown("*x*"))', "mime": "text/markdown"},
        {"code": DISPLAY + 'display.Show(display.Latex("$x$"))', "mime": "text/latex"},
        {"code": DISPLAY + 'display.Show(display.SVG("<svg></svg>"))', "mime": "image/svg+xml"},
        {"code": DISPLAY + 'display.Show(display.JSON(map[string]int{"x": 1}))', "mime": "application/json"},
    ]

    supported_history_operations = ("tail", "range", "search")
    code_history_pattern = "1 ? 2*"

    code_inspect_sample = "fmt.Println"
    code_clear_output = DISPLAY + "display.Clear(false)"


class CanchaWelcomeTests(jkt.IopubWelcomeTests):
    """A class of its own: mixed into the other one it starts the client's threads twice."""

    kernel_name = KERNEL
    support_iopub_welcome = True


TESTS = 13  # of jupyter_kernel_test 0.7
LIMIT = 300  # seconds

if __name__ == "__main__":
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    program = unittest.main(exit=False, verbosity=2)
    skipped = program.result.skipped
    for test, why in skipped:
        print(f"skipped: {test}: {why}", file=sys.stderr)
    if program.result.testsRun < TESTS:
        print(f"{program.result.testsRun} tests ran, want {TESTS}", file=sys.stderr)
    sys.exit(0 if program.result.wasSuccessful() and not skipped and program.result.testsRun >= TESTS else 1)
