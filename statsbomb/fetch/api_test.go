package fetch_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/statsbomb"
	"cancha/statsbomb/fetch"
)

const user, password = "someone@club.example", "pass:wörd"

// api serves what a server has as StatsBomb's API does: at paths of its own, for one account, with fields that the open data
// lack, seasons and matches to come, and compact JSON.
type api struct {
	*server
	strangers int // requests that did not show the account; guarded by server.mu, as are the next two
	now, most int // requests at a time
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{server: newFiles(t)}
	delete(a.files, statsbomb.SourceFile)
	for name, text := range a.files {
		a.files[name] = dress(t, name, text)
	}
	a.files["matches/9001/999.json"] = []byte(`[{"match_id":77,"match_status":"scheduled","home_team":null,"away_team":null,"home_score":null,"away_score":null}]`)
	a.start(t, a.serve)
	return a
}

// dress adds what only the API has.
func dress(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	var list []map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	kind, _, _ := strings.Cut(name, "/")
	more := map[string]map[string]any{
		"competitions.json": {"competition_gender": "male", "competition_youth": false, "match_available": "2023-12-12T07:43:33.436182", "match_available_360": nil},
		"matches":           {"attendance": nil, "behind_closed_doors": false, "collection_status": "Complete", "play_status": "Normal", "metadata": map[string]any{"data_version": "1.1.0"}},
		"events":            {"obv_total_net": 0.0123, "obv_for_after": nil},
		"lineups":           {"formations": []any{map[string]any{"formation": "442"}}, "events": []any{}},
		"three-sixty":       {"line_breaking_pass": false, "visible_player_counts": []any{map[string]any{"team_id": 1, "count": 9}}, "distances_from_edge_of_visible_area": nil},
	}[kind]
	for _, entry := range list {
		maps.Copy(entry, more)
	}
	switch kind {
	case "competitions.json":
		list = append(list, map[string]any{"competition_id": 9001, "season_id": 999, "season_name": "2029/2030", "competition_name": "Simulated League", "country_name": "Nowhere"})
	case "matches":
		list = append(list, map[string]any{"match_id": 78, "match_status": "collecting", "home_team": map[string]any{"home_team_id": nil}})
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// serve knows the API's paths, checks the account and leaves the rest to the server.
func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.now++
	a.most = max(a.most, a.now)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now--
	}()
	if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
		a.mu.Lock()
		a.strangers++
		a.mu.Unlock()
		w.Header().Set("WWW-Authenticate", "Basic")
		http.Error(w, "who is "+u+" with "+p+"?", http.StatusUnauthorized)
		return
	}
	for _, rule := range []struct{ path, name string }{
		{`^/api/v4/competitions$`, "competitions.json"},
		{`^/api/v6/competitions/(\d+)/seasons/(\d+)/matches$`, "matches/$1/$2.json"},
		{`^/api/v9/events/(\d+)$`, "events/$1.json"},
		{`^/api/v5/lineups/(\d+)$`, "lineups/$1.json"},
		{`^/api/v2/360-frames/(\d+)$`, "three-sixty/$1.json"},
	} {
		if path := regexp.MustCompile(rule.path); path.MatchString(r.URL.Path) {
			r.URL.Path = "/data/" + path.ReplaceAllString(r.URL.Path, rule.name)
			a.server.serve(w, r)
			return
		}
	}
	http.NotFound(w, r)
}

func (a *api) config(dir string) fetch.Config {
	c := a.server.config(dir)
	c.Base, c.Account = a.URL, account(user, password)
	return c
}

func account(user, password string) *fetch.Account {
	a, err := fetch.AccountFrom(environment("STATSBOMB_USER", user, "STATSBOMB_PASSWORD", password))
	if err != nil {
		panic(err)
	}
	return a
}

// environment is one with these names and values.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		if i := slices.Index(pairs, name); i >= 0 && i%2 == 0 {
			return pairs[i+1]
		}
		return ""
	}
}

// keepsSecret checks that a text shows neither user nor password.
func keepsSecret(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range []string{user, password, base64.StdEncoding.EncodeToString([]byte(user + ":" + password))} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows %q: %s", where, secret, text)
		}
	}
}

// contents are all files of a folder, unpacked, by name without .gz.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, strings.TrimSuffix(path, ".gz"))
		out[filepath.ToSlash(name)] = string(unpack(t, path, text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAccountFetches takes the last season that has matches, in the open data's layout, as it was sent.
func TestAccountFetches(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := a.config(t.TempDir())
	c.Frames = true
	var said []string
	c.Warn = func(err error) { said = append(said, err.Error()) }
	r, err := fetch.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Matches != 12 || len(r.Seasons) != 1 || r.Seasons[0].Name != "2022/2023" || r.Done != 38 || r.Missing != 0 {
		t.Errorf("report %+v", r)
	}
	if text := strings.Join(said, "\n"); len(said) != 2 || !strings.Contains(text, "season 999 2029/2030 is left out: an empty list") ||
		!strings.Contains(text, "1 of 13 matches are not available yet and left out") {
		t.Errorf("said %s", text)
	}
	a.holdsAll(t, c.Dir, 12, true)
	f, err := statsbomb.OpenFolder(c.Dir)
	if err != nil || f.Source() != "api" {
		t.Errorf("source %q, %v", f.Source(), err)
	}
	got := contents(t, c.Dir)
	for name, text := range got {
		keepsSecret(t, name, text)
		if folder, _, _ := strings.Cut(name, "/"); folder != "matches" && name != "source.txt" && text != string(a.files[name]) {
			t.Errorf("%s is not as it was sent: %s", name, text)
		}
	}
	list := got[fmt.Sprintf("matches/9001/%d.json", r.Seasons[0].ID)]
	if strings.Contains(list, "collecting") || strings.Count(list, `"collection_status":"Complete"`) != 12 {
		t.Errorf("matches: %s", list)
	}
	if _, requests := a.times("events/"); requests != 12 || a.strangers != 0 || a.most > 4 {
		t.Errorf("%d requests for events, %d without the account, %d at a time", requests, a.strangers, a.most)
	}
}

// TestBothSourcesMakeOneFolder reads the same matches by either way.
func TestBothSourcesMakeOneFolder(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	open := httptest.NewServer(http.HandlerFunc(a.server.serve))
	t.Cleanup(open.Close)
	c := a.config(t.TempDir())
	c.Seasons, c.Frames = 4, true
	if _, err := fetch.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	account := contents(t, c.Dir)
	c.Dir, c.Base, c.Account = t.TempDir(), open.URL+"/data", nil
	if _, err := fetch.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	delete(account, "source.txt")
	if got := contents(t, c.Dir); len(got) != 75 || !maps.Equal(got, account) {
		t.Errorf("%d files of the open data, %d of the account, and they are not the same", len(got), len(account))
	}
}

// TestFoldersOfAnotherSource: matches of one source are not taken for the other's.
func TestFoldersOfAnotherSource(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ours, open := a.config(t.TempDir()), newServer(t).config(t.TempDir())
	for _, c := range []fetch.Config{ours, open} {
		if _, err := fetch.Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	ours.Dir, open.Dir = open.Dir, ours.Dir
	if _, err := fetch.Run(t.Context(), ours); err == nil || !strings.Contains(err.Error(), "matches of another source (open-data, not api); name a new one") {
		t.Errorf("an account into a folder of open data: %v", err)
	}
	if _, err := fetch.Run(t.Context(), open); err == nil || !strings.Contains(err.Error(), "(api, not open-data)") {
		t.Errorf("open data into a folder of an account: %v", err)
	}
}

// TestWrongPassword is told in one line, after one request, and leaves nothing.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := a.config(t.TempDir())
	c.Account = account(user, password+"?")
	c.Warn = func(err error) { t.Error(err) }
	_, err := fetch.Run(t.Context(), c)
	if !errors.Is(err, fetch.ErrRefused) {
		t.Fatal(err)
	}
	if want := "the server refuses the account (401 Unauthorized): check STATSBOMB_USER and STATSBOMB_PASSWORD"; !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that ends %q", err, want)
	}
	keepsSecret(t, "the error", err.Error())
	if a.strangers != 1 || len(contents(t, c.Dir)) != 0 {
		t.Errorf("%d requests, files %v", a.strangers, contents(t, c.Dir))
	}
}

// TestAccountIsShownToNobodyElse: a redirect to another port, which http.Client takes for the same server, gets no password.
func TestAccountIsShownToNobodyElse(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	refuse := false
	var mu sync.Mutex
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for k, v := range r.Header {
			keepsSecret(t, "header "+k, strings.Join(v, " "))
		}
		if r.Header.Get("Authorization") != "" {
			t.Error("the password went to another server")
		}
		if refuse {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		a.server.serve(w, r)
	}))
	t.Cleanup(elsewhere.Close)
	a.disturb = func(w http.ResponseWriter, r *http.Request, name string, times int, text []byte) bool {
		if strings.HasPrefix(name, "events/") && times%2 == 1 {
			http.Redirect(w, r, elsewhere.URL+"/data/"+name+"?key=signed", http.StatusFound)
			return true
		}
		return false
	}
	c := a.config(t.TempDir())
	if _, err := fetch.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	a.holdsAll(t, c.Dir, 12, false)
	refuse = true
	c.Dir = t.TempDir()
	_, err := fetch.Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "which is not shown the account and answered 401") || strings.Contains(err.Error(), "signed") {
		t.Errorf("another server refuses: %v", err)
	}
}

// TestAccountLacksFiles: what the server has not for a match, or does not give to the account, is named and asked for again.
func TestAccountLacksFiles(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	answers := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { http.Error(w, "no", http.StatusNotFound) },
		func(w http.ResponseWriter) { http.Error(w, "no", http.StatusForbidden) },
		func(w http.ResponseWriter) { fmt.Fprint(w, "[]") },
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
	}
	given := make(map[string]int)
	a.disturb = func(w http.ResponseWriter, r *http.Request, name string, times int, text []byte) bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		kind, _, _ := strings.Cut(name, "/")
		if given[kind] == len(answers) || kind == "matches" || kind == "competitions.json" {
			return false
		}
		answers[given[kind]](w)
		given[kind]++
		return true
	}
	c := a.config(t.TempDir())
	c.Frames = true
	r, err := fetch.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	reasons := make(map[string]int)
	for _, f := range r.Absent {
		kind, _, _ := strings.Cut(f.File, "/")
		reasons[kind+" "+f.Reason]++
	}
	if r.Missing != 12 || len(r.Absent) != 12 || len(reasons) != 9 || reasons["three-sixty not for this account (403)"] != 1 || reasons["events an empty list"] != 2 {
		t.Errorf("%d missing: %v", r.Missing, r.Absent)
	}
	if r, err = fetch.Run(t.Context(), c); err != nil || r.Missing != 0 || r.Skipped != 24 {
		t.Errorf("again: %+v, %v; want the 12 that lacked", r, err)
	}
	a.holdsAll(t, c.Dir, 12, true)
}

// TestSeasonsOfAnAccount names seasons by id, and meets one that the account may not see.
func TestSeasonsOfAnAccount(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := a.config(t.TempDir())
	c.SeasonIDs = []int{999}
	if _, err := fetch.Run(t.Context(), c); !errors.Is(err, fetch.ErrNoMatches) || !strings.Contains(err.Error(), "999 2029/2030") {
		t.Errorf("a season to come: %v", err)
	}
	c.SeasonIDs = []int{12345}
	if _, err := fetch.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "has no season 12345, but 999 2029/2030") {
		t.Errorf("no season: %v", err)
	}
	c.SeasonIDs = nil
	r, err := fetch.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	last := fmt.Sprintf("matches/9001/%d.json", r.Seasons[0].ID)
	a.set(func(w http.ResponseWriter, r *http.Request, name string, times int, text []byte) bool {
		if name == last {
			http.Error(w, "no", http.StatusForbidden)
		}
		return name == last
	})
	var said []string
	c.Dir, c.Warn = t.TempDir(), func(err error) { said = append(said, err.Error()) }
	if r, err = fetch.Run(t.Context(), c); err != nil || r.Seasons[0].Name != "2021/2022" || !strings.Contains(strings.Join(said, "\n"), "2022/2023 is left out: not for this account (403)") {
		t.Errorf("a season that is not for the account: %+v, %v, said %q", r, err, said)
	}
}

// TestCrowdedServer: what it asks of one download, all do. Those on their way are answered when the client has been told, and
// only they may come before the second is over.
func TestCrowdedServer(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			told := make(chan struct{})
			var refused time.Time
			early := 0
			a.disturb = func(w http.ResponseWriter, r *http.Request, name string, times int, text []byte) bool {
				a.mu.Lock()
				refuse, quiet := len(a.asked) == 12 && refused.IsZero(), !refused.IsZero() && time.Since(refused) < time.Second
				if refuse {
					refused = time.Now()
				}
				if quiet {
					early++
				}
				a.mu.Unlock()
				if refuse {
					w.Header().Set("Retry-After", "1")
					http.Error(w, "slowly", code)
				} else if quiet {
					<-told
				}
				return refuse
			}
			c := a.config(t.TempDir())
			c.Warn = func(err error) {
				if strings.Contains(err.Error(), "; next try in 1s") {
					close(told)
				}
			}
			if _, err := fetch.Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			a.holdsAll(t, c.Dir, 12, false)
			if refused.IsZero() || early > 3 {
				t.Errorf("%d requests came while the server wanted none", early)
			}
		})
	}
}

// TestServerAsksTooMuch: a wait of hours is the user's to decide on.
func TestServerAsksTooMuch(t *testing.T) {
	t.Parallel()
	for _, asked := range []string{"7200", time.Now().Add(2 * time.Hour).UTC().Format(http.TimeFormat), "99999999999"} {
		a := newAPI(t)
		a.disturb = func(w http.ResponseWriter, r *http.Request, name string, times int, text []byte) bool {
			w.Header().Set("Retry-After", asked)
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
		_, err := fetch.Run(t.Context(), a.config(t.TempDir()))
		if err == nil || !strings.Contains(err.Error(), "429 Too Many Requests, and asks to wait for ") || !strings.Contains(err.Error(), "run again") {
			t.Errorf("asked for %s: %v", asked, err)
		}
	}
}

func TestAccountRefusesBases(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://data.example":                        "must begin with https",
		"https://" + "bob:s3cret" + "@data.example":  "must hold no user and password",
		"data.example":                               "must be one such as https://data.statsbombservices.com",
		"https://bob:s3cret@data.example:port/\x7f/": "must be one such as",
		"ftp://data.example":                         "must be one such as",
	} {
		_, err := fetch.Run(t.Context(), fetch.Config{Dir: t.TempDir(), Base: base, Account: account(user, password), Competition: 1})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want an error with %q", base, err, want)
		}
	}
}

func TestAccountFrom(t *testing.T) {
	if _, err := fetch.Run(t.Context(), fetch.Config{Dir: t.TempDir(), Account: &fetch.Account{}, Competition: 1}); !errors.Is(err, fetch.ErrNoAccount) {
		t.Errorf("the zero Account: %v", err)
	}
	for _, c := range []struct {
		name, want string
		set        []string
	}{
		{"none", "set STATSBOMB_USER and STATSBOMB_PASSWORD, or SB_USERNAME and SB_PASSWORD", nil},
		{"empty", "no account", []string{"STATSBOMB_USER", "", "STATSBOMB_PASSWORD", ""}},
		{"the original's", "", []string{"STATSBOMB_USER", "u", "STATSBOMB_PASSWORD", "p"}},
		{"statsbombpy's", "", []string{"SB_USERNAME", "u", "SB_PASSWORD", "p"}},
		{"no password", "STATSBOMB_USER is set, but not STATSBOMB_PASSWORD", []string{"STATSBOMB_USER", "u", "SB_USERNAME", "u", "SB_PASSWORD", "p"}},
		{"no user", "SB_PASSWORD is set, but not SB_USERNAME", []string{"SB_PASSWORD", "p"}},
		{"colon", "STATSBOMB_USER holds a colon", []string{"STATSBOMB_USER", "u:v", "STATSBOMB_PASSWORD", "p"}},
	} {
		a, err := fetch.AccountFrom(environment(c.set...))
		if c.want == "" && (err != nil || a == nil) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "u:v")) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestAccountCannotBePrinted prints it in every way there is.
func TestAccountCannotBePrinted(t *testing.T) {
	a := account(user, password)
	for _, v := range []any{a, *a, fetch.Config{Account: a}, []any{*a}} {
		var log bytes.Buffer
		keepsSecret(t, "a format", fmt.Sprintf("%v %+v %#v %s %q %x", v, v, v, v, v, v))
		if text, err := json.Marshal(v); err == nil {
			keepsSecret(t, "JSON", string(text))
		}
		fmt.Fprintln(&log, v)
		keepsSecret(t, "a line", log.String())
	}
}

// TestPaths asks for other versions of the API.
func TestPaths(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	c := a.config(t.TempDir())
	for text, want := range map[string]string{
		"events":                       "does not begin with /",
		"events=v8/{m}":                "does not begin with /",
		"events=/api/v8":               "lacks {m}",
		"matches=/api/{c}":             "lacks {s}",
		"stats=/x":                     "competitions, matches, events, lineups, 360-frames",
		"events=/api/v8/events/{m}":    "",
		"360-frames=/api/v1/360/{m}":   "",
		"competitions=/api/v4/no/such": "",
	} {
		err := c.Paths.Set(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if _, err := fetch.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "/api/v4/no/such: not found (404); check -base and -path") {
		t.Errorf("got %v", err)
	}
	c.Paths.Competitions = ""
	r, err := fetch.Run(t.Context(), c)
	if err != nil || r.Missing != 12 || r.Absent[0].Reason != "not found (404)" { // the imitation knows only version 9
		t.Errorf("%+v, %v", r, err)
	}
	c.Paths.Events = "v8"
	if _, err := fetch.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "does not begin with /") {
		t.Errorf("got %v", err)
	}
}
