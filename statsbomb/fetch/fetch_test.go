package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/fetch"
	"cancha/statsbomb/simulate"
)

// server serves simulated matches as the open data are served, and misbehaves as told.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	dir     *statsbomb.Folder
	files   map[string][]byte
	asked   map[string]int
	disturb func(w http.ResponseWriter, r *http.Request, name string, times int, text []byte) bool // true: answered
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := newFiles(t)
	s.start(t, s.serve)
	return s
}

// newFiles is a server that has not started.
func newFiles(t *testing.T) *server {
	t.Helper()
	dir := t.TempDir()
	if err := statsbomb.WriteFolder(t.Context(), dir, calendar{}, nil); err != nil {
		t.Fatal(err)
	}
	s := &server{files: make(map[string][]byte), asked: make(map[string]int)}
	s.load(t, dir)
	return s
}

func (s *server) start(t *testing.T, serve http.HandlerFunc) {
	s.Server = httptest.NewServer(serve)
	t.Cleanup(s.Close)
}

// calendar is two seasons of a league of four, 12 matches each, with an event and a frame a match.
type calendar struct{}

func (calendar) Source() string { return statsbomb.SourceSimulator }

func (calendar) Matches() []statsbomb.Match {
	return simulate.New(simulate.Config{Seed: 4, Teams: 4, Matches: 24, Frames: true}).Fixtures()
}

func (calendar) Events(id int64) ([]statsbomb.Event, error) {
	at := statsbomb.Point{X: 60, Y: 40}
	return []statsbomb.Event{{ID: fmt.Sprint("e", id), MatchID: id, Index: 1, Period: 1, Type: statsbomb.Ref{ID: statsbomb.TypePass, Name: "Pass"},
		Location: &at, FreezeFrame: []statsbomb.FramePlayer{{Location: at, Actor: true}}, VisibleArea: []float64{1, 2, 3, 4, 5, 6}}}, nil
}

func (calendar) Lineups(id int64) ([]statsbomb.Lineup, error) {
	return []statsbomb.Lineup{{Team: statsbomb.Ref{ID: 1, Name: "A"}}}, nil
}

func (s *server) load(t *testing.T, dir string) {
	t.Helper()
	f, err := statsbomb.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.dir = f
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		s.files[strings.TrimSuffix(filepath.ToSlash(name), ".gz")] = unpack(t, path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/data/")
	s.mu.Lock()
	s.asked[name]++
	times, text := s.asked[name], s.files[name]
	disturb := s.disturb
	s.mu.Unlock()
	if disturb != nil && disturb(w, r, name, times, text) {
		return
	}
	if text == nil {
		http.NotFound(w, r)
		return
	}
	w.Write(text)
}

// set changes how the server misbehaves.
func (s *server) set(disturb func(w http.ResponseWriter, r *http.Request, name string, times int, text []byte) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disturb = disturb
}

func (s *server) times(prefix string) (files, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, n := range s.asked {
		if strings.HasPrefix(name, prefix) {
			files++
			requests += n
		}
	}
	return files, requests
}

func (s *server) config(dir string) fetch.Config {
	return fetch.Config{Dir: dir, Base: s.URL + "/data/", Competition: 9001, Seasons: 1, Wait: time.Millisecond}
}

// holdsAll checks that a folder has a season's matches as the server has them, and nothing else.
func (s *server) holdsAll(t *testing.T, dir string, matches int, frames bool) {
	t.Helper()
	f, err := statsbomb.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := f.Matches()
	if len(list) != matches {
		t.Errorf("%d matches, want %d", len(list), matches)
	}
	for _, m := range list {
		got, err := f.Events(m.ID)
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.dir.Events(m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !frames {
				want[i].FreezeFrame, want[i].VisibleArea = nil, nil
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("events of match %d differ", m.ID)
		}
		if _, err := f.Lineups(m.ID); err != nil {
			t.Error(err)
		}
	}
	if parts := parts(t, dir); len(parts) > 0 {
		t.Errorf("left behind: %v", parts)
	}
}

func parts(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".part") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFetchLastSeason(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	dir := filepath.Join(t.TempDir(), "new", "folder")
	c := s.config(dir)
	c.Frames = true
	var last fetch.Progress
	c.Progress = func(p fetch.Progress) {
		if p.Done != last.Done+1 {
			t.Errorf("progress %d after %d", p.Done, last.Done)
		}
		last = p
	}
	r, err := fetch.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Matches != 12 || len(r.Seasons) != 1 || r.Seasons[0].Name != "2022/2023" || r.Competition.Name != "Simulated League" {
		t.Errorf("report %+v", r)
	}
	if last.Done != last.Total || last.Done != 2+3*12 || last.Skipped+last.Missing != 0 {
		t.Errorf("last progress %+v, want 38 files", last)
	}
	s.holdsAll(t, dir, 12, true)

	last = fetch.Progress{}
	again, err := fetch.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if again.Skipped != 36 {
		t.Errorf("fetched again: %+v, want 36 skipped", again)
	}
	if files, requests := s.times("events/"); files != 12 || requests != 12 {
		t.Errorf("%d requests for %d event files, want 12 for 12", requests, files)
	}
}

func TestFetchAllSeasonsWithoutFrames(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.config(t.TempDir())
	c.Seasons = 0
	if _, err := fetch.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s.holdsAll(t, c.Dir, 24, false)
	if files, _ := s.times("three-sixty/"); files != 0 {
		t.Errorf("%d frame files were asked for", files)
	}
}

func TestFetchMissingFiles(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var gone string
	for name := range s.files {
		if strings.HasPrefix(name, "events/") && name > gone {
			gone = name // of the last season
		}
	}
	delete(s.files, gone)
	c := s.config(t.TempDir())
	r, err := fetch.Run(t.Context(), c)
	if err != nil || r.Missing != 1 {
		t.Errorf("report %+v, %v; want one file missing", r, err)
	}
	if _, err := statsbomb.OpenFolder(c.Dir); err != nil {
		t.Error(err)
	}
}

// TestFetchDisturbed lets each file fail once in every way that another try mends.
func TestFetchDisturbed(t *testing.T) {
	ways := []struct {
		name    string
		disturb func(w http.ResponseWriter, r *http.Request, text []byte)
	}{
		{"503", func(w http.ResponseWriter, r *http.Request, text []byte) {
			http.Error(w, "later", http.StatusServiceUnavailable)
		}},
		{"429", func(w http.ResponseWriter, r *http.Request, text []byte) {
			http.Error(w, "slow", http.StatusTooManyRequests)
		}},
		{"broken off", func(w http.ResponseWriter, r *http.Request, text []byte) {
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			w.Write(text[:len(text)/2])
		}},
		{"short without saying so", func(w http.ResponseWriter, r *http.Request, text []byte) { w.Write(text[:len(text)/2]) }},
		{"empty", func(w http.ResponseWriter, r *http.Request, text []byte) {}},
		{"another page", func(w http.ResponseWriter, r *http.Request, text []byte) { w.Write([]byte("<html>log in</html>")) }},
		{"connection dropped", func(w http.ResponseWriter, r *http.Request, text []byte) { panic(http.ErrAbortHandler) }},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.disturb = func(w http.ResponseWriter, r *http.Request, name string, times int, text []byte) bool {
				if times > 1 {
					return false
				}
				way.disturb(w, r, text)
				return true
			}
			c := s.config(t.TempDir())
			if _, err := fetch.Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			s.holdsAll(t, c.Dir, 12, false)
		})
	}
}

func TestFetchFails(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	tests := []struct {
		name string
		edit func(c *fetch.Config, s *server)
		want string
	}{
		{"unknown competition", func(c *fetch.Config, s *server) { c.Competition = 40 }, "no such competition: 40;"},
		{"names those there are", func(c *fetch.Config, s *server) { c.Competition = 40 }, "9001 Simulated League"},
		{"wrong base", func(c *fetch.Config, s *server) { c.Base = s.URL + "/elsewhere" }, "the folder with competitions.json"},
		{"offline", func(c *fetch.Config, s *server) { c.Base = closed.URL }, "no connection; check the network"},
		{"no host", func(c *fetch.Config, s *server) {
			c.Client = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.DNSError{Err: "no such host", Name: "example.invalid", IsNotFound: true}
			}}}
		}, "a proxy is taken from HTTPS_PROXY"},
		{"no folder", func(c *fetch.Config, s *server) { c.Dir = "" }, "no folder named"},
		{"a file in the way", func(c *fetch.Config, s *server) {
			if err := os.WriteFile(filepath.Join(c.Dir, "events"), nil, 0o666); err != nil {
				panic(err)
			}
		}, "events"},
		{"always cut", func(c *fetch.Config, s *server) {
			s.disturb = func(w http.ResponseWriter, r *http.Request, name string, times int, text []byte) bool {
				if strings.HasPrefix(name, "events/") {
					w.Write(text[:len(text)-9])
					return true
				}
				return false
			}
		}, "gave up after 3 tries"},
		{"forbidden", func(c *fetch.Config, s *server) {
			s.disturb = func(w http.ResponseWriter, r *http.Request, name string, times int, text []byte) bool {
				http.Error(w, "no", http.StatusForbidden)
				return true
			}
		}, "403 Forbidden"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			c := s.config(t.TempDir())
			c.Tries = 3
			tt.edit(&c, s)
			_, err := fetch.Run(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			if c.Dir != "" && len(parts(t, c.Dir)) > 0 {
				t.Errorf("left behind: %v", parts(t, c.Dir))
			}
		})
	}
}

func TestFetchStopsAndGoesOn(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.config(t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c.Progress = func(p fetch.Progress) {
		if p.Done == 9 {
			stop()
		}
	}
	if _, err := fetch.Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped: %v, want context.Canceled", err)
	}
	c.Progress = nil
	r, err := fetch.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Skipped < 7 {
		t.Errorf("%d files were kept, want at least the seven that were fetched after the lists", r.Skipped)
	}
	s.holdsAll(t, c.Dir, 12, false)
}

// TestFetchKilled kills a fetch by -9 in another process while answers are on their way, and goes on.
func TestFetchKilled(t *testing.T) {
	if dir := os.Getenv("FETCH_DIR"); dir != "" { // the process to be killed
		c := fetch.Config{Dir: dir, Base: os.Getenv("FETCH_BASE"), Competition: 9001, Seasons: 1}
		c.Account, _ = fetch.AccountFrom(os.Getenv)
		_, err := fetch.Run(t.Context(), c)
		t.Fatalf("was not killed: %v", err)
	}
	t.Run("open data", func(t *testing.T) {
		t.Parallel()
		s := newServer(t)
		killed(t, s, s.config(t.TempDir()))
	})
	t.Run("account", func(t *testing.T) {
		t.Parallel()
		a := newAPI(t)
		killed(t, a.server, a.config(t.TempDir()))
	})
}

func killed(t *testing.T, s *server, c fetch.Config) {
	reached := make(chan struct{})
	var once sync.Once
	s.set(func(w http.ResponseWriter, r *http.Request, name string, times int, text []byte) bool {
		if files, _ := s.times("events/"); files < 6 {
			return false
		}
		w.Write(text[:len(text)/2]) // and no more, until the client is gone
		w.(http.Flusher).Flush()
		once.Do(func() { close(reached) })
		<-r.Context().Done()
		return true
	})
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFetchKilled$")
	child.Env = append(os.Environ(), "FETCH_DIR="+c.Dir, "FETCH_BASE="+c.Base, "STATSBOMB_USER=", "STATSBOMB_PASSWORD=", "SB_USERNAME=", "SB_PASSWORD=")
	if c.Account != nil {
		child.Env = append(child.Env, "STATSBOMB_USER="+user, "STATSBOMB_PASSWORD="+password)
	}
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-reached:
	case <-time.After(30 * time.Second):
		t.Error("the other process fetched nothing")
	}
	child.Process.Kill()
	child.Wait()
	s.set(nil)
	// A file in writing, as a kill between two system calls leaves it, and an hour gone by.
	left := append(parts(t, c.Dir), filepath.Join(c.Dir, "events", "1.json.gz.123.part"))
	if err := os.WriteFile(left[len(left)-1], []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range left {
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := fetch.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("%v; the killed process said %s", err, out.String())
	}
	if r.Skipped == 0 || r.Skipped == 24 {
		t.Errorf("%d of 24 files were kept, want some; the killed process said %s", r.Skipped, out.String())
	}
	s.holdsAll(t, c.Dir, 12, false)
}
