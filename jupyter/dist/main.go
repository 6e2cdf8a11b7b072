// Command dist makes the packages that users install: for each platform an archive and a Python wheel with the kernel in it, and
// their checksums. The same sources and toolchain give the same bytes. It ends at the files: publishing them is for others.
//
// A package holds the plain program, without C. The engine that loads compiled cells cannot be handed out: the program builds it on
// its user's machine (kernel/workspace).
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// epoch is the time of every file in a package: the earliest that a zip archive can tell.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("dist", flag.ExitOnError)
	root := flags.String("root", ".", "the module's `folder`")
	out := flags.String("out", "dist", "the `folder` that the packages go to")
	names := flags.String("platforms", "", "which, such as \"linux/amd64 darwin/arm64\"; all without it")
	sealing := flags.Bool("seal", false, "make no packages: write the provenance and the sums of what is in the folder")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *sealing {
		return seal(*root, *out)
	}
	wanted, err := choose(strings.Fields(*names))
	if err != nil {
		return err
	}
	r, err := newRelease(*root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	var made []string
	for _, p := range wanted {
		files, err := r.make(ctx, p, *out)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		made = append(made, files...)
	}
	return writeSums(*out, made)
}

// make builds one platform's program and returns the names of its packages in out.
func (r *release) make(ctx context.Context, p platform, out string) ([]string, error) {
	stage, err := os.MkdirTemp("", "cancha-dist-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	program := filepath.Join(stage, "cancha")
	if err := r.build(ctx, p, program); err != nil {
		return nil, err
	}
	licenses, err := r.licenses(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("collect the licenses: %w", err)
	}
	c := contents{release: r, platform: p, licenses: licenses}
	if c.program, err = os.ReadFile(program); err != nil {
		return nil, err
	}
	var names []string
	for _, pack := range []func() (name string, data []byte, err error){c.archive, c.wheel} {
		name, data, err := pack()
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(out, name), data, 0o666); err != nil {
			return nil, err
		}
		fmt.Printf("%s  %.1f MB\n", filepath.Join(out, name), float64(len(data))/1e6)
		names = append(names, name)
	}
	return names, nil
}

// writeSums writes SHA256SUMS, as "sha256sum -c" reads it.
func writeSums(out string, names []string) error {
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(out, sumsName), []byte(text.String()), 0o666)
}
