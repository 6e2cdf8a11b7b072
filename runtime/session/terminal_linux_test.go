package session

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal opens a terminal that nobody sees.
func openTerminal(t *testing.T) (*os.File, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err == nil {
		t.Cleanup(func() { slave.Close() })
	}
	return slave, err
}

// TestHide: a terminal does not show what is typed while it is hidden, and does so again after it.
func TestHide(t *testing.T) {
	terminal, err := openTerminal(t)
	if err != nil {
		t.Skipf("no terminal can be had: %v", err)
	}
	echoes := func() bool {
		modes, err := unix.IoctlGetTermios(int(terminal.Fd()), getTerminal)
		if err != nil {
			t.Fatal(err)
		}
		return modes.Lflag&unix.ECHO != 0
	}
	if !echoes() {
		t.Fatal("a new terminal does not echo")
	}
	show, err := hide(int(terminal.Fd()))
	if err != nil || echoes() {
		t.Fatalf("hidden: it still echoes, %v", err)
	}
	var out strings.Builder
	show(&out)
	if !echoes() || out.String() != "\n" {
		t.Errorf("shown again: echoes %v, wrote %q", echoes(), out.String())
	}
}
