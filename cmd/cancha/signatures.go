//go:build !windows

package main

import (
	"context"
	"fmt"

	"cancha/kernel/wire"
)

// What an empty key in a connection file means, and what to do.
const (
	unsigned = "whoever reaches the ports can run code"
	signIt   = "take Session.key and ConnectionFileMixin.connection_file out of Jupyter's configuration, so that each kernel gets a key of its own"
)

// openToAll tells whether whoever reaches a kernel's ports can run code. An encrypted kernel without a signature's key lets in only who knows
// its public key, which the connection file alone has.
func openToAll(c wire.Connection) bool { return c.Key == "" && !c.Encrypted() }

// checkSignatures tells of running kernels that take unsigned messages: those whose connection files have an empty key.
func checkSignatures(ctx context.Context) []finding {
	var found []finding
	for _, name := range connectionFiles() {
		if c, err := wire.ReadConnection(name); err == nil && openToAll(c) && answers(ctx, c) {
			found = append(found, finding{warning, "signatures", fmt.Sprintf("%s has an empty key: %s", name, unsigned), signIt})
		}
	}
	return found
}
