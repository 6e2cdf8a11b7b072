package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// TestShort is the short form of "make chaos": each kind of state, each kind of sink that needs no server.
func TestShort(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for half a minute")
	}
	*queries, *epoch = "windows join predictions", 30*time.Millisecond
	f, err := newField(t.Context(), 80_000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query, sink string
		members     int
	}{{"windows", "file", 1}, {"windows", "kafka", 1}, {"join", "kafka", 1}, {"predictions", "epochs", 1}} {
		name := c.query + "_" + c.sink
		t.Run(name, func(t *testing.T) {
			one := &trial{program: program, members: c.members, faults: 5, dice: rand.New(rand.NewPCG(1, uint64(len(name)))), shortest: 60 * time.Millisecond,
				longest: 300 * time.Millisecond, role: f.role(c.query, c.sink, name, filepath.Join(t.TempDir(), name), c.members > 1)}
			o, err := one.run(t.Context(), rows)
			if err != nil {
				t.Fatal(err)
			}
			if t.Log(o); !o.ok() || o.rows == 0 {
				t.Error(o)
			}
		})
	}
}
