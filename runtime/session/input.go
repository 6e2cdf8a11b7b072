package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"cancha/internal/cellio"
)

// How a question may end without an answer, besides io.EOF, by which the user says that there is no more.
var (
	// ErrNoInput says that nobody can be asked, and why: the front end does not allow it (cancha run and nbconvert do not), or
	// the cell has ended. Go on with a default.
	ErrNoInput = cellio.ErrNoInput
	// ErrInterrupted says that an interrupt has taken the question back. It is seen where the cell handles interrupts (see
	// NotifyInterrupt), and by deferred calls.
	ErrInterrupted = cellio.ErrInterrupted
)

// Input asks the user for a line and returns it without its end. The prompt stands before the field of the front end. Several
// goroutines are asked one after another. In an ordinary program the line is read from the standard input.
//
//	name, err := session.Input("Your name: ")
//
// fmt.Scan, bufio.NewScanner(os.Stdin) and whatever else reads os.Stdin ask in the same way, without a prompt.
func Input(prompt string) (string, error) { return ask(prompt, false) }

// Password is Input for what is not to be seen as it is typed. Nothing of it is kept in the notebook unless the cell shows it.
func Password(prompt string) (string, error) { return ask(prompt, true) }

func ask(prompt string, password bool) (string, error) {
	line, err := cellio.Ask(cellio.Input{Prompt: prompt, Password: password})
	if errors.Is(err, cellio.ErrDetached) {
		return askTerminal(os.Stdin, os.Stdout, prompt, password)
	}
	return line, err
}

// askTerminal asks in an ordinary program.
func askTerminal(in *os.File, out io.Writer, prompt string, password bool) (string, error) {
	if _, err := io.WriteString(out, prompt); err != nil {
		return "", fmt.Errorf("session: ask: %w", err)
	}
	if password {
		show, err := hide(int(in.Fd()))
		if err != nil {
			return "", fmt.Errorf("session: hide what is typed: %w", err)
		}
		defer show(out)
	}
	return readLine(in)
}

// readLine reads a line and nothing beyond it, which may be somebody else's.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := r.Read(b)
		switch {
		case n == 1 && b[0] == '\n', errors.Is(err, io.EOF) && len(line) > 0:
			return strings.TrimSuffix(string(line), "\r"), nil
		case n == 1:
			line = append(line, b[0])
		case errors.Is(err, io.EOF):
			return "", io.EOF
		case err != nil:
			return "", fmt.Errorf("session: read a line: %w", err)
		}
	}
}

// hide keeps a terminal from showing what is typed until show is called, which ends the line that the user could not see end.
// Anything but a terminal shows nothing.
func hide(fd int) (show func(io.Writer), err error) {
	before, err := unix.IoctlGetTermios(fd, getTerminal)
	if err != nil {
		return func(io.Writer) {}, nil // no terminal
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, setTerminal, &hidden); err != nil {
		return nil, err
	}
	return func(out io.Writer) {
		_ = unix.IoctlSetTermios(fd, setTerminal, before) // it was possible a moment ago
		_, _ = io.WriteString(out, "\n")
	}, nil
}
