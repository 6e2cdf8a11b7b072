//go:build !windows

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cancha/ml/forest"
	"cancha/ml/lwp"
	"cancha/statsbomb"
	"cancha/statsbomb/feed"
	"cancha/statsbomb/fetch"
	"cancha/statsbomb/simulate"
	"cancha/stream/broker"
	"cancha/stream/kafka"
)

const testUser, testPassword = "someone@club.example", "s3cret"

// apiServer serves a folder as StatsBomb's API does, and sets the account in the environment. before, if not nil, is called at
// each request.
func apiServer(t *testing.T, dir string, before func(*http.Request)) *httptest.Server {
	t.Helper()
	t.Setenv("STATSBOMB_USER", testUser)
	t.Setenv("STATSBOMB_PASSWORD", testPassword)
	path := regexp.MustCompile(`^/api/v\d/(?:competitions/(\d+)/seasons/(\d+)/)?(\w.*)$`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != testUser || p != testPassword {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		if before != nil {
			before(r)
		}
		m := path.FindStringSubmatch(r.URL.Path)
		if m == nil {
			http.NotFound(w, r)
			return
		}
		name := filepath.Join(strings.Replace(m[3], "360-frames", "three-sixty", 1), m[1], m[2]) + ".json"
		if text, err := os.ReadFile(filepath.Join(dir, name+".gz")); err == nil {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(text)
			return
		}
		http.ServeFile(w, r, filepath.Join(dir, name))
	}))
	t.Cleanup(server.Close)
	return server
}

// league simulates five seasons of two teams.
func league(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "league")
	if err := runData(t.Context(), []string{"simulate", "-matches", "10", "-teams", "2", "-seed", "5", "-dir", dir}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAccountTrains fetches the last four seasons of a league, and trains on them as notebook 02 does.
func TestAccountTrains(t *testing.T) {
	server, dir := apiServer(t, league(t), nil), filepath.Join(t.TempDir(), "fetched")
	code, stdout, stderr := outcome(t, t.TempDir(), "data", "fetch", "-account", "-competition", "9001", "-seasons", "4", "-base", server.URL, "-dir", dir)
	if code != 0 || stderr != "" || !strings.Contains(stdout, "Simulated League: 8 matches of 4 seasons in "+dir+"; 21 files fetched, 0 files there already, 0 files not available") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if strings.Contains(stdout, testUser) || strings.Contains(stdout, testPassword) {
		t.Errorf("the account is shown: %s", stdout)
	}
	var list bytes.Buffer
	if err := dataList(&list, []string{"-dir", dir}); err != nil || !strings.Contains(list.String(), fetch.AccountTerms) {
		t.Errorf("%v: %s", err, &list)
	}
	archive, _, err := feed.Archive(dir, statsbomb.Filter{Competition: 9001, Last: 4}, simulate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := lwp.Load(t.Context(), archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	train, later, err := all.Split(all.DateAt(.75))
	if err != nil || len(train.Matches) != 6 || len(later.Matches) != 2 {
		t.Fatalf("split: %v", err)
	}
	model, err := lwp.Fit(t.Context(), train, lwp.Config{Target: lwp.Outcome, Forest: forest.Config{Trees: 2, Seed: 7}})
	if err != nil || model.Info.Source != "api" || model.Info.Matches != 6 {
		t.Errorf("%v: %+v", err, model.Info)
	}
}

// TestAccountRefused: without an account, and with a wrong password, a line says so.
func TestAccountRefused(t *testing.T) {
	server := apiServer(t, t.TempDir(), nil)
	for _, c := range []struct{ name, password, want string }{
		{"wrong", "s3crets", "check STATSBOMB_USER and STATSBOMB_PASSWORD"},
		{"half", "", "STATSBOMB_USER is set, but not STATSBOMB_PASSWORD"},
	} {
		for _, command := range []string{"data fetch", "producer -brokers 127.0.0.1:1"} {
			t.Setenv("STATSBOMB_PASSWORD", c.password)
			args := append(strings.Fields(command), "-account", "-competition", "9001", "-base", server.URL)
			code, stdout, stderr := outcome(t, t.TempDir(), args...)
			if code != 1 || !strings.HasSuffix(stderr, c.want+"\n") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s, %s: exit code %d: %s", c.name, command, code, stderr)
			}
			if all := stdout + stderr; strings.Contains(all, testUser) || strings.Contains(all, testPassword) {
				t.Errorf("%s, %s: the account is shown: %s", c.name, command, all)
			}
		}
	}
}

// TestInterruptedFetch presses ^C while answers stay away: it ends, says how to go on, and goes on.
func TestInterruptedFetch(t *testing.T) {
	var lineups atomic.Int32
	reached, dir := make(chan struct{}), filepath.Join(t.TempDir(), "fetched")
	server := apiServer(t, league(t), func(r *http.Request) {
		if strings.Contains(r.URL.Path, "/lineups/") && lineups.Add(1) == 3 { // the sixth file, of which four are fetched at a time
			close(reached)
			<-r.Context().Done()
		}
	})
	args := []string{"data", "fetch", "-account", "-competition", "9001", "-base", server.URL, "-dir", dir}
	c := cancha(t, t.TempDir(), args...)
	var errs strings.Builder
	c.Stdout, c.Stderr = io.Discard, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	c.Process.Signal(syscall.SIGINT)
	late := time.AfterFunc(time.Minute, func() { c.Process.Kill() }) // no answer comes: only the signal ends it
	c.Wait()
	late.Stop()
	if c.ProcessState.ExitCode() != 1 || !strings.HasSuffix(errs.String(), "run it again to go on\n") {
		t.Errorf("ended with code %d: %s", c.ProcessState.ExitCode(), &errs)
	}
	if code, stdout, stderr := outcome(t, t.TempDir(), args...); code != 0 || strings.Contains(stdout, " 0 files there already") {
		t.Errorf("again: exit code %d: %s%s", code, stdout, stderr)
	}
}

// TestProducerPlaysAnAccount fetches one season of a league, plays it, and later plays it from the folder.
func TestProducerPlaysAnAccount(t *testing.T) {
	made := league(t)
	folder, err := statsbomb.OpenFolder(made)
	if err != nil {
		t.Fatal(err)
	}
	season := folder.Seasons(9001)[1]
	var fetched atomic.Int32
	server, dir := apiServer(t, made, func(r *http.Request) {
		if strings.Contains(r.URL.Path, "/events/") {
			fetched.Add(1)
		}
	}), filepath.Join(t.TempDir(), "fetched")
	b, err := broker.Start(broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	args := []string{"-brokers", b.Addr(), "-account", "-competition", "9001", "-seasons", strconv.Itoa(season.ID), "-base", server.URL, "-data", dir, "-matches", "2", "-partitions", "1"}
	for range 2 {
		if err := runProducer(t.Context(), args); err != nil {
			t.Fatal(err)
		}
	}
	lags, err := kafka.Lag(t.Context(), kafka.Config{Brokers: []string{b.Addr()}, Topic: feed.Topic})
	if err != nil || len(lags) != 1 || lags[0].End < 4000 || fetched.Load() != 2 {
		t.Errorf("%+v, %v; %d matches fetched, want the season's two, once", lags, err, fetched.Load())
	}
	if got, err := statsbomb.OpenFolder(dir); err != nil || len(got.Matches()) != 2 || got.Matches()[0].Season != season {
		t.Errorf("%v in the folder, %v", got.Matches(), err)
	}
}

func TestProducerAccountFlags(t *testing.T) {
	t.Setenv("STATSBOMB_USER", testUser)
	t.Setenv("STATSBOMB_PASSWORD", testPassword)
	o, err := parseProducer(strings.Fields("-account -competition 11 -path events=/v8/{m}"))
	if c := o.fetch; err != nil || c.Account == nil || c.Competition != 11 || c.Seasons != 4 || c.Dir != "data" || o.data != "data" || !c.Frames || c.Paths.Events != "/v8/{m}" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = parseProducer(strings.Fields("-account -competition 11 -seasons 90,42 -data d -360=false")); err != nil || len(o.fetch.SeasonIDs) != 2 || o.fetch.Dir != "d" || o.fetch.Frames {
		t.Errorf("%+v, %v", o, err)
	}
	for args, want := range map[string]string{
		"-account":                                   "name a competition",
		"-account -competition 11 -simulate":         "-simulate and -account exclude each other",
		"-base http://x":                             "-base, -path and -360 are for -account",
		"-account -competition 11 -path events=/{x}": "lacks {m}",
	} {
		if _, err := parseProducer(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", args, err, want)
		}
	}
}

func TestTellAbsent(t *testing.T) {
	list := []fetch.Absent{{File: "events/7.json", Reason: "an empty list"}}
	for i := range 12 {
		list = append(list, fetch.Absent{File: "three-sixty/" + strconv.Itoa(10+i) + ".json", Reason: "not found (404)"})
	}
	var out bytes.Buffer
	tellAbsent(&out, list)
	want := "no events of 1 match, an empty list: 7\nno three-sixty of 12 matches, not found (404): 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 2 more\n"
	if out.String() != want {
		t.Errorf("got %s", &out)
	}
}
