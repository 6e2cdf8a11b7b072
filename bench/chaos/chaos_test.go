package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the processes that a trial kills.
func TestMain(m *testing.M) {
	r, is, err := roleOf()
	if err == nil && is {
		err = r.run(context.Background())
	} else if err == nil {
		os.Exit(m.Run())
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

// TestShort is the short form of "make chaos": each kind of state, each kind of sink that needs no server, each kind of fault.
func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes: takes seconds")
	}
	*queries, *epoch = "windows join predictions", 30*time.Millisecond
	f, err := newField(t.Context(), 80_000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.close(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		query, sink string
		kinds       string
		n           int
	}{
		{"windows", "file", "kill", 5},
		{"windows", "kafka", "kill", 5},
		{"join", "kafka", "kill", 5},
		{"predictions", "epochs", "kill", 5},
		{"windows", "epochs", "broker", 2},
		{"join", "file", "full", 4},
		{"windows", "epochs", "full slow", 4},
		{"windows", "kafka", "drop", 2},
		{"join", "kafka", "slow clock", 4},
		{"windows", "epochs", "back", 4},
		{"join", "file", "back kill", 4},
		{"windows", "kafka", "back", 3},
		{"anew", "epochs", "anew", 4},
		{"anew", "kafka", "anew", 3},
		{"firsts", "file", "kill", 4},
		{"sessions", "file", "kill", 4},
	} {
		name := c.query + "_" + c.sink + "_" + strings.ReplaceAll(c.kinds, " ", "_")
		t.Run(name, func(t *testing.T) {
			*faults = c.kinds
			o := &outcome{}
			for longest := 300 * time.Millisecond; o.ok() && len(o.faults) == 0 && longest > time.Millisecond; longest /= 2 { // a fast query has ended before
				p := &plan{left: c.n, dice: rand.New(rand.NewPCG(1, uint64(len(name)))), shortest: longest / 5, longest: longest}
				try := f.try
				if c.query == "anew" {
					try = f.anew
				}
				again := fmt.Sprintf("%s_%d", name, longest.Milliseconds())
				var err error
				if o, err = try(t.Context(), f.role(c.query, c.sink, again, filepath.Join(t.TempDir(), again), false), 1, p); err != nil {
					t.Fatal(err)
				}
			}
			if t.Log(o); !o.ok() || o.rows == 0 || len(o.faults) == 0 {
				t.Error(o)
			}
		})
	}
}
