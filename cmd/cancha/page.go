//go:build !windows

package main

import (
	"context"
	"fmt"

	"cancha/cmd/internal/own"
	"cancha/internal/running"
	"cancha/runtime/monitor"
	"cancha/runtime/session"
)

// startPage opens the page that shows what runs in this engine, unless the settings say otherwise or no port is free; session.UI() tells which.
// The caller calls stop when the engine ends.
func startPage(ctx context.Context) (stop func()) {
	none := func() {}
	c, err := session.Environment()
	if err != nil {
		running.Process().Announce(running.Page{Off: fmt.Sprintf("the settings cannot be read: %v", err)})
		return none
	}
	if c.UI == "false" {
		running.Process().Announce(running.Page{Off: "cancha.ui is false"})
		return none
	}
	page, err := monitor.Start(ctx, monitor.Config{
		Host: c.UIHost, Port: c.UIPort, Token: c.UIToken, Version: own.Version, Settings: c.Settings(),
	})
	if err != nil { // the registry has been told
		return none
	}
	return func() { _ = page.Close() } // the process ends anyway
}
