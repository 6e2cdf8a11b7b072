//go:build !windows

package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"cancha/kernel/workspace"
)

// TestLoads: an engine that could not load a compiled cell says why, before anybody tries.
func TestLoads(t *testing.T) {
	for _, test := range []struct {
		name     string
		settings map[string]string
		want     string
	}{
		{"a workspace's", map[string]string{"CGO_ENABLED": "1", "-tags": "workspace"}, ""},
		{"with other tags too", map[string]string{"CGO_ENABLED": "1", "-tags": "cuda,workspace"}, ""},
		{"the plain one", map[string]string{"CGO_ENABLED": "1"}, "not built in a workspace"},
		{"a tag like it", map[string]string{"-tags": "noworkspace"}, "not built in a workspace"},
		{"without cgo", map[string]string{"CGO_ENABLED": "0", "-tags": "workspace"}, "without cgo"},
		{"with the race detector", map[string]string{"CGO_ENABLED": "1", "-tags": "workspace", "-race": "true"}, "-race"},
	} {
		err := loads(test.settings)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// TestEngineChoice: a session's engines are the workspace's, or the program's own with the reason.
func TestEngineChoice(t *testing.T) {
	w := &workspace.Workspace{Dir: "/w", Manifest: workspace.Manifest{GoVersion: "go1.26.8"}}
	obstacle := &workspace.Obstacle{Fault: "no C compiler was found", Advice: "install gcc"}
	for _, test := range []struct {
		name   string
		forced string
		build  string // what the store says while it builds; "" finds at once
		w      *workspace.Workspace
		err    error
		want   []string // of the command
		said   []string // parts of what a waiting cell shows last
	}{
		{"there", "", "", w, nil, []string{"/w/bin/cancha", "engine", "-workspace", "/w"}, nil},
		{"built", "", "1 of 2 packages", w, nil, []string{"/w/bin/cancha", "engine", "-workspace", "/w"}, []string{"go1.26.8 is ready"}},
		{"impossible", "", "", nil, obstacle, []string{"/p", "engine", "-reason", obstacle.Error()}, nil},
		{"failed while one waited", "", "1 of 2 packages", nil, obstacle, []string{"/p", "engine", "-reason", obstacle.Error()}, []string{"interpreted", "install gcc"}},
		{"forced", "interp", "", w, nil, []string{"/p", "engine", "-reason", "CANCHA_ENGINE is interp"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(engineVariable, test.forced)
			c := engineChoice{program: "/p", log: slog.New(slog.DiscardHandler), ensure: func(_ context.Context, say func(string)) (*workspace.Workspace, error) {
				if test.build != "" {
					say(test.build)
				}
				return test.w, test.err
			}}
			var last string
			c.prepare(t.Context(), func(line string) { last = line })
			if got := c.command().Args; !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, part := range test.said {
				if !strings.Contains(last, part) {
					t.Errorf("said %q, want in it %q", last, part)
				}
			}
			if test.said == nil && last != "" {
				t.Errorf("said %q, want nothing", last)
			}
		})
	}
}

// A session's engine is replaced by that of a whole workspace, or stays.
func TestReplaceEngine(t *testing.T) {
	c := engineChoice{program: "/p", plain: true, use: func(dir string) (*workspace.Workspace, error) {
		if dir != "/w2" {
			return nil, errors.New("damaged")
		}
		return &workspace.Workspace{Dir: dir}, nil
	}}
	if err := c.replace("/w3"); err == nil || c.command().Args[0] != "/p" {
		t.Errorf("one that is damaged: got %v and %q", err, c.command().Args)
	}
	if err := c.replace("/w2"); err != nil || c.command().Args[0] != "/w2/bin/cancha" {
		t.Errorf("got %v and %q", err, c.command().Args)
	}
}

// An engine that does not start is not tried for ever.
func TestEngineThatDoesNotStart(t *testing.T) {
	c := engineChoice{program: "/p", log: slog.New(slog.DiscardHandler), workspace: &workspace.Workspace{Dir: "/w"}}
	if !c.failed("no such file") {
		t.Error("nothing else to offer")
	}
	if got := c.command().Args; got[0] != "/p" || !strings.Contains(got[3], "no such file") || !strings.Contains(got[3], "cancha install") {
		t.Errorf("got %q", got)
	}
	if c.failed("again") {
		t.Error("something else to offer than the program itself")
	}
}

// An engine that is told of a workspace and cannot use it serves all the same, and says why not.
func TestOpenWorkspace(t *testing.T) {
	if tools, err := openWorkspace(""); tools != nil || err != nil {
		t.Errorf("no folder: got %v, %v", tools, err)
	}
	tools, err := openWorkspace(t.TempDir())
	if tools != nil || err == nil || !strings.Contains(err.Error(), "loads no") {
		t.Errorf("this test's program: got %v, %v", tools, err)
	}
	if errors.As(err, new(*workspace.Obstacle)) {
		t.Error("it is not the machine that lacks something")
	}
}
