//go:build nvidia && linux

package emulated

import (
	"context"
	"fmt"
	"os"

	"cancha/runtime/gpu/driver"
)

// LibraryVariable names the file of libcuda, where it is not the system's libcuda.so.1.
const LibraryVariable = "CANCHA_LIBCUDA"

// Run runs a room's tests, as its TestMain is given them, on an emulated GPU with the funcs of these libraries, which no other process holds, and
// returns their exit code. If LibraryVariable names a real GPU's libcuda.so.1, they run on that.
func Run(tests interface{ Run() int }, libraries ...*driver.Library) int {
	if os.Getenv(LibraryVariable) != "" {
		return tests.Run()
	}
	path, err := With(context.Background(), libraries...)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	locks, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(locks)
	os.Setenv(LibraryVariable, path)
	os.Setenv("CANCHA_LOCKS", locks)
	os.Setenv("CANCHA_CUBLAS", "/nowhere/libcublas.so") // a machine's own is for its own driver
	return tests.Run()
}
