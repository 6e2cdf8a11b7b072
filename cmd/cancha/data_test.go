//go:build !windows

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/statsbomb"
)

// TestDataRoundTrip simulates a folder, fetches it from a local server, and lists both.
func TestDataRoundTrip(t *testing.T) {
	made, fetched := filepath.Join(t.TempDir(), "made"), filepath.Join(t.TempDir(), "fetched")
	if err := runData(t.Context(), []string{"simulate", "-matches", "3", "-teams", "2", "-seed", "5", "-frames", "-dir", made}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := filepath.Join(made, filepath.FromSlash(r.URL.Path))
		if text, err := os.ReadFile(path + ".gz"); err == nil {
			w.Header().Set("Content-Encoding", "gzip") // as the real server sends it
			w.Write(text)
			return
		}
		http.ServeFile(w, r, path)
	}))
	defer server.Close()
	if err := runData(t.Context(), []string{"fetch", "-competition", "9001", "-seasons", "1", "-360", "-base", server.URL, "-dir", fetched}); err != nil {
		t.Fatal(err)
	}
	for dir, matches := range map[string]string{made: "3        3            3", fetched: "1        1            1"} {
		var out bytes.Buffer
		if err := dataList(&out, []string{"-dir", dir}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "Simulated League") || !strings.Contains(out.String(), matches) {
			t.Errorf("list of %s, want the counts %q:\n%s", filepath.Base(dir), matches, &out)
		}
	}
	a, b := events(t, made), events(t, fetched)
	if len(a) != len(b) || a[100].FreezeFrame == nil != (b[100].FreezeFrame == nil) {
		t.Errorf("%d events made, %d fetched", len(a), len(b))
	}
}

// events reads the last match of a folder.
func events(t *testing.T, dir string) []statsbomb.Event {
	t.Helper()
	f, err := statsbomb.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	matches := f.Matches()
	list, err := f.Events(matches[len(matches)-1].ID)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestDataRefuses(t *testing.T) {
	tests := []struct {
		name, args, want string
	}{
		{"unknown word", "steal", "not \"steal\""},
		{"no competition", "fetch -seasons 4", "-competition 11"},
		{"seasons", "fetch -competition 11 -seasons -1", "-seasons -1"},
		{"extra", "fetch -competition 11 now", "\"now\""},
		{"no folder", "simulate -matches 3", "-dir"},
		{"no matches", "simulate -matches 0 -dir x", "-matches 0"},
		{"odd", "simulate -teams 3 -dir x", "even number"},
		{"not there", "list -dir /no/such/folder", "open-data layout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := runData(t.Context(), strings.Fields(tt.args))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestMeterOnTerminal(t *testing.T) {
	var out bytes.Buffer
	m := newMeter(&out, true)
	m.show(3, 3, "events/1.json")
	m.end()
	m.end()
	if got, want := out.String(), "\r\x1b[K3 of 3 (100 %)  events/1.json\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
