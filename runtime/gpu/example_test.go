package gpu_test

import (
	"context"
	"fmt"

	"cancha/runtime/gpu"
	"cancha/runtime/gpu/gputest"
)

// A room's library is loaded once, and its funcs run where the session chooses.
func ExampleSession_Launch() {
	ctx := context.Background()
	library, err := gputest.Library() // as any room makes one, with driver.NewLibrary
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := gpu.NewSession(ctx, gpu.Config{Device: gpu.CPU})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	if err := session.Load(library); err != nil {
		fmt.Println(err)
		return
	}
	values, _ := gpu.NewUint8s(session, []uint8{7, 9, 7})
	counts, _ := gpu.NewUint32s(session, make([]uint32, 256))
	if err := session.Launch(ctx, "gputest_count", counts, values, 3); err != nil {
		fmt.Println(err)
		return
	}
	all, err := counts.Values(ctx)
	fmt.Println(all[7], all[9], err)
	// Output: 2 1 <nil>
}
