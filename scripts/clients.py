"""Runs the kernel under the clients that people use, each in its own way, and checks what they show.

    python clients.py [--kernel cancha] [NAME...]     # of nbclient, encrypted, nbconvert, execute, papermill, parameters, console, two

Needs the kernelspec where Jupyter looks (JUPYTER_PATH), and the packages of jupyter/lab and jupyter/papermill. Prints a line for each
client, and ends with 1 if one has failed.
"""
import argparse
import os
import pathlib
import queue
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import jupyter_client
import nbclient
import nbformat
import pexpect

PATIENCE = 120  # seconds for anything that must come: test machines are busy

CELLS = [
    'sum := 0\nfor i := range 10 {\n\tsum += i\n}\nfmt.Println("sum", sum)',
    "sum * 2",
    'import "cancha/runtime/display"\ndisplay.Show(display.HTML("<b>bold</b>"))',
    "type point struct{ X, Y int }\nfunc (p point) far() bool { return p.X+p.Y > 10 }\npoint{3, 9}.far()",
]


def notebook(cells, kernel, tagged=None):
    """Return a notebook of code cells; the one numbered tagged holds the parameters."""
    made = nbformat.v4.new_notebook(metadata={
        "kernelspec": {"name": kernel, "display_name": kernel, "language": "go"},
        "language_info": {"name": "go", "file_extension": ".go"},  # as JupyterLab has it saved
    })
    made.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    if tagged is not None:
        made.cells[tagged].metadata["tags"] = ["parameters"]
    return made


def text(cell) -> str:
    """Return what a cell has printed and the text of what it has shown."""
    return "".join(out.get("text", "") or out.get("data", {}).get("text/plain", "") for out in cell.outputs)


def expect(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def check(executed):
    """Check the outputs of CELLS."""
    texts = [text(cell) for cell in executed.cells]
    expect(texts[0], "sum 45\n", "what is printed")
    expect(texts[1], "90", "a value")
    expect(executed.cells[2].outputs[0]["data"]["text/html"], "<b>bold</b>", "a display")
    expect(texts[3], "true", "a method")
    expect([cell.execution_count for cell in executed.cells], [1, 2, 3, 4], "the counts")


def warm(kernel):
    """Run a cell, so that an engine is built where that has not been done: it says how far it is in a cell's output."""
    nbclient.NotebookClient(notebook(["0"], kernel), timeout=5 * PATIENCE).execute()


def command(*words, want=0):
    """Run a command of Jupyter's in this Python, and return what it has said."""
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, timeout=3 * PATIENCE)
    if (done.returncode == 0) != (want == 0):
        raise AssertionError(f"{' '.join(words)} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def run_nbclient(kernel, folder):
    book = notebook(CELLS, kernel)
    nbclient.NotebookClient(book, timeout=PATIENCE).execute()
    check(book)
    failing = notebook(["x := 1", 'panic("boom")', "x + 1"], kernel)
    try:
        nbclient.NotebookClient(failing, timeout=PATIENCE).execute()
        raise AssertionError("a failing cell is no error")
    except nbclient.exceptions.CellExecutionError as error:
        if "boom" not in str(error):
            raise AssertionError(f"the error does not name the panic: {error}") from error
    failing = notebook(["x := 1", 'panic("boom")', "x + 1"], kernel)
    nbclient.NotebookClient(failing, timeout=PATIENCE, allow_errors=True).execute()
    expect(text(failing.cells[2]), "2", "a cell after one that may fail")
    return "values, displays, a failing cell, errors allowed"


def run_encrypted(kernel, folder):
    manager = jupyter_client.AsyncKernelManager(kernel_name=kernel, transport_encryption="required")
    book = notebook(CELLS, kernel)
    nbclient.NotebookClient(book, km=manager, timeout=PATIENCE).execute()
    check(book)
    if not manager.curve_secretkey:
        raise AssertionError("the manager has made no keys")
    return "nbclient on channels that are encrypted"


def run_nbconvert(kernel, folder):
    nbformat.write(notebook(CELLS, kernel), folder / "in.ipynb")
    for kind, name in (("notebook", "out.ipynb"), ("html", "out.html"), ("markdown", "out.md"), ("script", "out.go")):
        command("nbconvert", "--to", kind, "--execute", str(folder / "in.ipynb"), "--output", str(folder / name.split(".")[0]))
    check(nbformat.read(folder / "out.ipynb", as_version=4))
    for name, wanted in (("out.html", "sum 45"), ("out.md", "sum 45"), ("out.go", "sum += i")):
        if wanted not in (folder / name).read_text():
            raise AssertionError(f"{name} has no {wanted!r}")
    return "notebook, html, markdown, script"


def run_execute(kernel, folder):
    nbformat.write(notebook(CELLS, kernel), folder / "in.ipynb")
    command("jupyter", "execute", "--inplace", str(folder / "in.ipynb"))
    check(nbformat.read(folder / "in.ipynb", as_version=4))
    return "in place"


def run_papermill(kernel, folder):
    nbformat.write(notebook(CELLS, kernel), folder / "in.ipynb")
    command("papermill", str(folder / "in.ipynb"), str(folder / "out.ipynb"), "--no-progress-bar")
    check(nbformat.read(folder / "out.ipynb", as_version=4))
    return "without parameters"


def run_parameters(kernel, folder):
    cells = ['n := 1\nname := ""\nteams := []string{"none"}\nrate := 0.5', 'fmt.Println(n+1, name, strings.Join(teams, "+"), rate)']
    nbformat.write(notebook(cells, kernel, tagged=0), folder / "in.ipynb")
    there, back = str(folder / "in.ipynb"), str(folder / "out.ipynb")
    command("papermill", there, back, "--no-progress-bar", "-p", "n", "41", "-r", "name", 'Ñú "𝔊"\\', "-y", "{teams: [A, B], rate: 2}")
    executed = nbformat.read(back, as_version=4)
    expect(executed.cells[1].metadata["tags"], ["injected-parameters"], "the tag of the cell put in")
    expect(text(executed.cells[2]), '42 Ñú "𝔊"\\ A+B 2\n', "a cell that uses them")
    said = command("papermill", there, back, "--no-progress-bar", "-p", "nobody", "1", want=1)
    if "nobody" not in said:
        raise AssertionError(f"a parameter that is not declared is not named: {said[-500:]}")
    listed = command("papermill", there, "--help-notebook")
    for wanted in ("n:", "name:", "rate:"):
        if wanted not in listed:
            raise AssertionError(f"--help-notebook does not tell {wanted} {listed}")
    return "texts, numbers, lists; an unknown name fails; listed by --help-notebook"


def run_console(kernel, folder):
    """Type at jupyter console through a terminal."""
    for sessions in range(1, 4):
        try:
            talk(kernel, folder / f"console{sessions}.log")
        except OwnFault as fault:
            print(f"     console {fault}: again", flush=True)
        else:
            return f"a cell, a completion, an interrupt, a question, leaving; session {sessions}"
    raise AssertionError("jupyter console hung in itself three times in a row")


class OwnFault(Exception):
    """Jupyter console has hung in a place that is known to hang with every kernel, beside much other work (version 6.6.3)."""


# The functions of jupyter console in which it then is, and why.
OWN_FAULTS = {
    # Ctrl-C while it takes or gives back one of jupyter_core's locks: its signal handler waits for a thread that waits for that lock.
    "handle_sigint": "hung in its own handler of Ctrl-C",
    # It takes the `idle` of its is_complete_request for the cell's where the cell's `busy` reaches it 50 ms later or more; then it
    # shows nothing and asks nothing until the cell's reply.
    "handle_execute_reply": "heard no output of a cell that runs",
}


def talk(kernel, path):
    """Hold one session with jupyter console, and keep what its terminal shows in path."""
    child = pexpect.spawn(
        sys.executable, ["-m", "jupyter", "console", "--kernel", kernel, "--ZMQTerminalInteractiveShell.highlighting_style=bw"],
        timeout=PATIENCE, encoding="utf-8", dimensions=(50, 200),
        env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "PYTHONFAULTHANDLER": "1"})  # SIGABRT tells where it is
    with path.open("w") as log:
        child.logfile_read = log
        try:
            converse(child)
        except pexpect.ExceptionPexpect as error:
            log.flush()
            shown = path.read_text()[-1500:]
            stack = stack_of(child)
            for function, fault in OWN_FAULTS.items():
                if f"in {function}\n" in stack:
                    raise OwnFault(fault) from error
            raise AssertionError(f"{type(error).__name__}; the end of the terminal: {shown!r}; where it is: {stack}") from error
        finally:
            child.close(force=True)


def converse(child):
    child.expect(prompt(1))
    child.send("20 + 22\r")
    see(child, r"Out\[.*1.*\]:[^0-9]*.*42", prompt(2))
    child.send("kept := strings.ToUpperS\t")
    child.expect("pecial")  # the end of the only one; the terminal may get it by itself
    child.send("\x15")  # forget the line
    child.send('kept := "kept"\r')
    child.expect(prompt(3))
    child.send('fmt.Println("r" + "unning"); for { }\r')
    child.expect("running")
    child.sendintr()
    see(child, "interrupted", prompt(4))
    child.send("kept + \"!\"\r")
    see(child, r'"kept!"', prompt(5))
    # Not fmt.Print and fmt.Scanln: what a cell prints comes on another socket than its question, and the console, which reads one
    # after the other, shows it after the answer where it comes a moment late (with ipykernel as well).
    child.send('import "cancha/runtime/session"; name, _ := session.Input("Who" + "?"); fmt.Println("hello " + name)\r')
    child.expect(r"Who\?")
    child.send("Ada\r")
    see(child, "hello Ada", prompt(6))
    child.sendeof()
    child.expect("exit")  # it asks
    child.send("y\r")
    child.expect(pexpect.EOF)


def prompt(count):
    """Return the pattern of a prompt, which is colored."""
    color = r"(?:\x1b\[[0-9;]*m)*"
    return rf"In \[{color}{count}{color}\]:"


def see(child, text, then):
    """Wait for the text of a cell and the prompt after it. Where the prompt comes first, press Enter: the console asks for the next
    cell at the reply, and shows at Enter what it has heard too late."""
    if child.expect([text, then]) == 1:
        child.send("\r")
        child.expect(text)
    child.expect(then)


def stack_of(child):
    """End a Python that runs with PYTHONFAULTHANDLER, and return where its threads were."""
    child.kill(signal.SIGABRT)
    try:
        child.expect(pexpect.EOF)
    except pexpect.ExceptionPexpect as error:
        return f"unknown ({type(error).__name__})"
    return child.before.replace("\r\n", "\n").partition("Fatal Python error: ")[2]


def run_two(kernel, folder):
    """Two clients of one kernel: each hears what is published for the other, and gets no reply but its own."""
    manager = jupyter_client.KernelManager(kernel_name=kernel)
    manager.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    clients = []
    try:
        for _ in range(2):
            client = jupyter_client.BlockingKernelClient(connection_file=manager.connection_file)
            client.load_connection_file()
            client.start_channels()
            client.wait_for_ready(timeout=PATIENCE)
            clients.append(client)
        asked = [[client.execute(f'fmt.Println("of {i}")') for _ in range(5)] for i, client in enumerate(clients)]
        everything = {request for some in asked for request in some}
        for client, mine in zip(clients, asked):
            replies = [client.get_shell_msg(timeout=PATIENCE)["parent_header"]["msg_id"] for _ in mine]
            expect(replies, mine, "replies to one client")
            try:
                stray = client.get_shell_msg(timeout=0.2)
                raise AssertionError(f"a client got a reply that is not its own: {stray['parent_header']}")
            except queue.Empty:
                pass
            expect(idle_and_streams(client, everything), everything, "requests whose output a client has heard")
    finally:
        for client in clients:
            client.stop_channels()
        manager.shutdown_kernel()
    return "outputs of both to both, replies to who asked"


def idle_and_streams(client, requests):
    """Return those of requests whose output has been heard once all are idle."""
    heard, idle, end = set(), set(), time.monotonic() + PATIENCE
    while idle < requests and time.monotonic() < end:
        message = client.get_iopub_msg(timeout=PATIENCE)
        parent = message["parent_header"].get("msg_id")
        if message["msg_type"] == "stream":
            heard.add(parent)
        elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle" and parent in requests:
            idle.add(parent)
    return heard & requests


CLIENTS = {name.removeprefix("run_"): run for name, run in list(globals().items()) if name.startswith("run_")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default="cancha")
    parser.add_argument("clients", nargs="*", metavar="NAME", help=", ".join(CLIENTS))
    options = parser.parse_args()
    if unknown := set(options.clients) - set(CLIENTS):
        parser.error(f"unknown clients: {', '.join(sorted(unknown))}; known are {', '.join(CLIENTS)}")
    failed = []
    warm(options.kernel)
    for name in options.clients or CLIENTS:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                what, verdict = CLIENTS[name](options.kernel, pathlib.Path(folder)), "ok"
            except Exception as error:  # whatever it was, the other clients are to have their turn
                what, verdict = f"{type(error).__name__}: {error}", "FAIL"
                if not isinstance(error, AssertionError):
                    what += "\n" + traceback.format_exc()
                failed.append(name)
        print(f"{verdict:4} {name}  {time.monotonic() - begin:.1f} s, {what}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
