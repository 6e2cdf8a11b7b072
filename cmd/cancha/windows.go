//go:build windows

package main

import (
	"fmt"
	"os"
)

// main says where the program runs: the rest of it is not built for Windows, where most of it would not compile.
func main() {
	fmt.Fprintln(os.Stderr, "cancha: on Windows, run Cancha inside WSL (https://learn.microsoft.com/windows/wsl/install): its kernel passes "+
		"sockets to the process that runs cells, signals groups of processes and loads compiled cells as Go plugins, and Windows offers none of these.")
	os.Exit(1)
}
