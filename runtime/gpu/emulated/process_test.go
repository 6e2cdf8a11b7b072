//go:build cuda

package emulated_test

import (
	"context"
	"fmt"

	"cancha/runtime/gpu"
)

// process is what a second process of this test does.
func process(what string) (code int) {
	switch what {
	case "discover":
		fmt.Println(gpu.Discover(context.Background()))
		return 0
	}
	fmt.Println("no such process:", what)
	return 2
}
