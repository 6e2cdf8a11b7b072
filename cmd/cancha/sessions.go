//go:build !windows

package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"cancha/jupyter/kernelspec"
	"cancha/kernel/wire"
	"cancha/runtime/gpu"
	"cancha/runtime/session"
)

// checkDevice tells where the switch between GPU and CPU stands, and what has set it.
func checkDevice(ctx context.Context) []finding {
	c, err := session.Environment()
	if err != nil {
		return nil // checkVariables tells it
	}
	return []finding{judgeDevice(c, len(gpu.Discover(ctx).Devices))}
}

func judgeDevice(c session.Config, gpus int) finding {
	from := ""
	for _, s := range c.Settings() {
		if s.Key == "cancha.device" {
			from = s.From
		}
	}
	f := finding{verdict: good, subject: "device", found: fmt.Sprintf("%s, by %s", c.Device, cmp.Or(from, "default"))}
	switch {
	case c.Device == "gpu" && gpus == 0:
		f.verdict, f.found = warning, f.found+", and no GPU is found: operations run on the CPU"
		f.advice = "cancha.device cpu in cancha.conf, or CANCHA_DEVICE=cpu, says what happens anyway"
	case c.Device == "auto" && gpus == 0:
		f.found += ": the CPU, as no GPU is found"
	}
	return f
}

// kernelPatience is how long a kernel of this machine is given to take a connection.
const kernelPatience = time.Second

// checkSessions counts the kernels that run, by the connection files in Jupyter's folder and whether somebody listens there.
func checkSessions(ctx context.Context) []finding {
	own, others := 0, 0
	for _, name := range connectionFiles() {
		c, err := wire.ReadConnection(name)
		if err != nil || !answers(ctx, c) {
			continue
		}
		if ours(c.KernelName) {
			own++
		} else {
			others++
		}
	}
	return []finding{{verdict: good, subject: "sessions", found: fmt.Sprintf("%d of cancha, %d of other kernels", own, others)}}
}

// ours tells whether a kernelspec of that name is one of ours.
func ours(name string) bool {
	for _, found := range kernelspec.Find(os.LookupEnv) {
		if found.Name == name {
			return true
		}
	}
	return name == "cancha"
}

// connectionFiles are those of kernels that Jupyter has started and has not tidied up after.
func connectionFiles() []string {
	folder, err := kernelspec.RuntimeFolder(os.LookupEnv)
	if err != nil {
		return nil // checkKernelspec tells it
	}
	files, _ := filepath.Glob(filepath.Join(folder, "kernel-*.json")) // the pattern is sound
	return files
}

func answers(ctx context.Context, c wire.Connection) bool {
	network, address := c.Address(c.HBPort)
	d := net.Dialer{Timeout: kernelPatience}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was written to it
	return true
}
