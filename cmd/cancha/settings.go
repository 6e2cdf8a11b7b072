//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

	"cancha/internal/master"
	"cancha/runtime/gpu"
	"cancha/runtime/session"
	"cancha/runtime/session/conf"
)

// checkSettings tells, line by line, what in a file of settings contradicts itself or the machine, and what a run gets by it. It fails
// where a cluster would, or a run.
func checkSettings(ctx context.Context, out io.Writer, name, machine string) error {
	m, err := settingsMachine(ctx, machine)
	if err != nil {
		return err
	}
	f, err := conf.Read(name)
	if err != nil {
		return err
	}
	failed := 0
	for _, fault := range f.Faults(m) {
		v := failure
		if fault.Warning {
			v = warning
		} else {
			failed++
		}
		where := "not in the file"
		if fault.Line > 0 {
			where = fmt.Sprintf("line %d", fault.Line)
		}
		text := fmt.Sprintf("%-5s %s, %s: %s\n%6s→ %s\n", v, where, strings.TrimSpace(fault.Key+" "+fault.Value), fault.What, "", fault.Mend)
		fmt.Fprint(out, master.HideIn(text))
	}
	c, err := session.FromFile(f)
	if err != nil {
		for fault := range strings.Lines(strings.TrimPrefix(err.Error(), "session: ")) {
			failed++
			fmt.Fprintf(out, "%-5s %s\n%6s→ correct it: no run starts with it\n", failure, strings.TrimSpace(fault), "")
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s: %d of its settings will not do what they seem to", name, failed)
	}
	fmt.Fprintf(out, "%-5s %s: nothing in it contradicts itself; a run gets by it\n", good, name)
	for _, s := range c.Settings() {
		fmt.Fprintf(out, "      %-20s %-12s %s\n", s.Key, s.Value, s.From)
	}
	return nil
}

// settingsMachine is the machine that settings are for: this one, or one of which only the memory is given.
func settingsMachine(ctx context.Context, memory string) (m conf.Machine, err error) {
	if m.Memory, err = machineMemory(memory); err != nil || memory != "" {
		return m, err
	}
	m.GPUs, m.GPUsKnown = len(gpu.Discover(ctx).Devices), gpu.Linked()
	return m, nil
}

// machineMemory reads the amount that is given, or how much this machine has, in bytes; 0 where the system does not say.
func machineMemory(given string) (int64, error) {
	if given == "" {
		return memoryOf(os.DirFS("/"))
	}
	n, err := conf.Bytes(given, 1)
	if err != nil {
		return 0, fmt.Errorf("-machine: %w", err)
	}
	return n, nil
}

// memoryOf is how much the system of those files gives its programs: what the machine has, or less in a container with a limit.
func memoryOf(files fs.FS) (int64, error) {
	text, err := readIfThere(files, "proc/meminfo")
	if err != nil {
		return 0, err
	}
	n := int64(0)
	if total := regexp.MustCompile(`MemTotal:\s+(\d+) kB`).FindStringSubmatch(text); total != nil {
		if n, err = conf.Bytes(total[1]+"k", 1); err != nil {
			return 0, err
		}
	}
	for _, name := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} { // cgroups, version 2 and 1
		text, err := readIfThere(files, name)
		if err != nil {
			return 0, err
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err == nil && limit > 0 && (n == 0 || limit < n) { // "max", or a number larger than any machine's memory, is no limit
			n = limit
		}
	}
	return n, nil
}

// readIfThere reads a file, "" where there is none.
func readIfThere(files fs.FS, name string) (string, error) {
	raw, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(raw), err
}
