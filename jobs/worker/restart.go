package worker

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// Restart starts this program anew in the place of its process, with its arguments and its environment, and so ends what no context does:
// who watches over the process sees the same one go on. Files and connections are closed. It returns where the system refuses that: then
// the process is to end, for whoever watches over it to start another.
func Restart() error {
	program, err := os.Executable()
	if err == nil {
		closeAtRestart()
		err = syscall.Exec(program, os.Args, os.Environ())
	}
	return fmt.Errorf("jobs/worker: the program is not started anew, and has to be by hand: %w", err)
}

// closeAtRestart has files closed that a library has opened without saying so, such as a driver: the next program would have them, and what
// they hold.
func closeAtRestart() {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // there are no others than Go's, which are closed
	}
	for _, f := range open {
		if n, err := strconv.Atoi(f.Name()); err == nil && n > 2 {
			syscall.CloseOnExec(n)
		}
	}
}
