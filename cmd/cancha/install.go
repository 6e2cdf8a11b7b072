//go:build !windows

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"cancha/cmd/internal/own"
	"cancha/jupyter/kernelspec"
	"cancha/runtime/session"
)

func runInstall(ctx context.Context, args []string) error {
	interpreted, memory := false, ""
	o, err := parsePlace("install", args, func(flags *flag.FlagSet) {
		flags.StringVar(&memory, "memory", "", "end an engine that exceeds this `size`, such as 4GiB, with an error that says so")
		flags.BoolVar(&interpreted, "interpreted", false, "do not build the engine that compiles cells; sessions build it when they can")
	})
	if err != nil {
		return err
	}
	if memory != "" {
		if _, err := session.ParseMemory(memory); err != nil {
			return usageError{"install", err}
		}
		o.Variables = map[string]string{memoryVariable: memory}
	}
	o.Version = own.Version
	folder, err := kernelspec.Install(o)
	if err != nil {
		return err
	}
	fmt.Printf("installed %s in %s\n", o.Name, folder)
	if interpreted {
		return nil
	}
	if err := buildWorkspace(ctx, os.Stderr); err != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "cancha install: cells will be interpreted: %v\n", err) // the kernel is there all the same
	}
	return ctx.Err()
}

func runUninstall(_ context.Context, args []string) error {
	o, err := parsePlace("uninstall", args)
	if err != nil {
		return err
	}
	folder, err := kernelspec.Uninstall(o)
	if err != nil {
		return err
	}
	fmt.Printf("removed %s\n", folder)
	return nil
}

// parsePlace reads the flags that say which kernel and where.
func parsePlace(command string, args []string, more ...func(*flag.FlagSet)) (kernelspec.Options, error) {
	var o kernelspec.Options
	about := "Takes away the kernel that \"cancha install\" with the same flags has put there."
	if command == "install" {
		about = "Puts the kernel where Jupyter looks for kernels, this program included: it may be moved or deleted afterwards."
	}
	flags := newFlags(command, "", about)
	flags.BoolVar(&o.User, "user", false, "in your own Jupyter data folder (the default)")
	flags.BoolVar(&o.SysPrefix, "sys-prefix", false, "in the Python environment in use: VIRTUAL_ENV, CONDA_PREFIX, or python3's own")
	flags.Func("prefix", "in `DIR`/share/jupyter/kernels", func(dir string) error {
		if dir == "" {
			return errors.New("it names no folder")
		}
		o.Prefix = dir
		return nil
	})
	flags.StringVar(&o.Name, "name", kernelspec.DefaultName, "the kernel's `name`, as notebooks record it")
	if command == "install" {
		flags.StringVar(&o.DisplayName, "display-name", kernelspec.DefaultDisplayName, "the `name` that people see")
	}
	for _, add := range more {
		add(flags)
	}
	return o, parseAll(flags, args)
}
