package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

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
		fmt.Fprintf(out, "%-5s %s, %s: %s\n%6s→ %s\n", v, where, strings.TrimSpace(fault.Key+" "+fault.Value), fault.What, "", fault.Mend)
	}
	c, err := session.FromFile(f)
	if err != nil {
		failed++
		fmt.Fprintf(out, "%-5s %s\n%6s→ correct it: no run starts with it\n", failure, strings.TrimPrefix(err.Error(), "session: "), "")
	}
	if failed > 0 {
		return fmt.Errorf("%s: %d of its settings will not do what they look like", name, failed)
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
	found := gpu.Discover(ctx)
	m.GPUs = len(found.Devices)
	m.GPUsKnown = m.GPUs > 0 || !strings.Contains(found.Missing, "-tags nvidia") // else this program cannot see any
	return m, nil
}

// machineMemory reads the amount that is given, or how much this machine has, in bytes; 0 where the system does not say.
func machineMemory(given string) (int64, error) {
	if given != "" {
		n, err := conf.Bytes(given, 1)
		if err != nil {
			return 0, fmt.Errorf("-machine: %w", err)
		}
		return n, nil
	}
	text, err := os.ReadFile("/proc/meminfo")
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	total := regexp.MustCompile(`MemTotal:\s+(\d+ k)B`).FindSubmatch(text)
	if total == nil {
		return 0, nil
	}
	return conf.Bytes(strings.ReplaceAll(string(total[1]), " ", ""), 1)
}
