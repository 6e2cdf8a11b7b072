package server_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"cancha/jobs/job"
	"cancha/jobs/server"
)

const token = "0123456789abcdef"

// headers sets headers in pairs; Host is the request's host.
func headers(pairs ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == "Host" {
				r.Host = pairs[i+1]
			} else {
				r.Header.Set(pairs[i], pairs[i+1])
			}
		}
	}
}

// TestGuard: who gets an answer, on loopback and beyond.
func TestGuard(t *testing.T) {
	local := newSite(t, func(c *server.Config) { c.Token = token })
	beyond := newSite(t, func(c *server.Config) { c.Token, c.Address = token, "0.0.0.0:0" })
	for _, s := range []*server.Server{local.server, beyond.server} {
		if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") || !strings.HasSuffix(s.URL(), "/?token="+token) || s.URL() != s.Address()+"?token="+token {
			t.Errorf("got %s and %s", s.URL(), s.Address())
		}
	}
	local.token, beyond.token = "", "" // each row brings its own
	for _, c := range []struct {
		name, path string
		change     func(*http.Request)
		want       int
	}{
		{"by its address", "jobs", nil, 403},
		{"by its address with the token", "jobs", headers("Authorization", "Bearer "+token), 200},
		{"by its address with the token in it", "jobs?token=" + token, nil, 200},
		{"the scheme in another case", "jobs", headers("Authorization", "bearer "+token), 200},
		{"a token without a scheme", "jobs", headers("Authorization", token), 403},
		{"as localhost", "jobs", headers("Host", "localhost:8000"), 403},
		{"as ::1", "jobs", headers("Host", "[::1]:8000"), 403},
		{"as ::1 without a port", "jobs", headers("Host", "[::1]"), 403},
		{"a name that resolves to loopback", "jobs", headers("Host", "attacker.example:8000"), 403},
		{"a name that begins like an address", "jobs", headers("Host", "127.0.0.1.attacker.example"), 403},
		{"the address of all interfaces", "jobs", headers("Host", "0.0.0.0:8000"), 403},
		{"a proxy that names loopback", "jobs", headers("Host", "127.0.0.1:8000", "X-Forwarded-For", "203.0.113.9"), 403},
		{"a proxy by its standard header", "jobs", headers("Forwarded", "for=203.0.113.9"), 403},
		{"a proxy that tells of itself alone", "jobs", headers("Via", "1.1 hub.example"), 403},
		{"a proxy, with the token", "jobs?token=" + token, headers("X-Forwarded-For", "203.0.113.9"), 200},
		{"another name with the token", "jobs?token=" + token, headers("Host", "hub.example"), 200},
		{"another name with a wrong token", "jobs?token=" + token + "x", headers("Host", "hub.example"), 403},
		{"an empty token", "jobs?token=", headers("Host", "hub.example"), 403},
		{"no token in its header", "jobs", headers("Host", "hub.example", "Authorization", "Bearer "), 403},
		{"the token as a scraper sends it", "metrics", headers("Host", "scheduler:8000", "Authorization", "Bearer "+token), 200},
		{"a probe, which has none", "health", headers("Host", "10.0.0.7:8000"), 200},
		{"a path that only begins so", "health/../jobs", headers("Host", "10.0.0.7:8000"), 403},
		{"events", "events", headers("Host", "attacker.example"), 403},
		{"the page's files", "page.js", headers("Host", "attacker.example"), 403},
		{"a script of another origin", "jobs?token=" + token, headers("Origin", "http://attacker.example"), 403},
		{"a script of another port", "jobs?token=" + token, headers("Origin", "http://127.0.0.1:8888"), 403},
		{"a sandboxed page", "jobs?token=" + token, headers("Origin", "null"), 403},
		{"a picture on another page", "jobs?token=" + token, headers("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors",
			"Sec-Fetch-Dest", "image"), 403},
		{"a script of the same site", "jobs?token=" + token, headers("Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"), 403},
		{"a frame on another page", "?token=" + token, headers("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"), 403},
		{"a link on another page", "?token=" + token, headers("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), 200},
		{"the page's own script", "jobs?token=" + token, headers("Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"), 200},
	} {
		if got, body := local.ask("GET", c.path, "", c.change); got != c.want {
			t.Errorf("%s, on loopback: got %d %s, want %d", c.name, got, body, c.want)
		}
		if got, body := beyond.ask("GET", c.path, "", c.change); got != c.want {
			t.Errorf("%s, beyond it: got %d %s, want %d", c.name, got, body, c.want)
		}
	}
}

// TestToken: one that can be guessed is refused before anything listens, and no error shows it.
func TestToken(t *testing.T) {
	s := newSite(t)
	for _, token := range []string{"short", "hush-hush-15-ch", "0123456789\nabcdef"} {
		other, err := server.Start(t.Context(), server.Config{Scheduler: s.scheduler, Broker: s.broker, Address: "127.0.0.1:0", Token: token})
		if err == nil {
			_ = other.Close()
		}
		if err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%q: got %v", token, err)
		}
	}
}

// TestChange: nothing is changed by what another page makes a browser send.
func TestChange(t *testing.T) {
	s := newSite(t)
	s.ask("POST", "jobs", `{"job_type":"t","job_id":"a"}`, nil)
	s.becomes("a", "queued")
	for _, c := range []struct {
		name, method string
		change       func(*http.Request)
		want         int
	}{
		{"GET", "GET", nil, 405},
		{"DELETE", "DELETE", nil, 405},
		{"asking before, as a script of another origin does", "OPTIONS", headers("Access-Control-Request-Method", "POST"), 405},
		{"a form", "POST", headers("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"a form of plain text that looks like JSON", "POST", headers("Content-Type", "text/plain"), 415},
		{"no type at all", "POST", func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
		{"no token", "POST", func(r *http.Request) { r.Header.Del("Authorization") }, 403},
		{"another origin", "POST", headers("Origin", "http://attacker.example"), 403},
		{"another origin, as browsers tell it", "POST", headers("Sec-Fetch-Site", "cross-site"), 403},
		{"a form that is sent as a link is followed", "POST",
			headers("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), 403},
	} {
		if got, body := s.ask(c.method, "jobs/a/cancel", "", c.change); got != c.want || s.job("a").State != string(job.Queued) {
			t.Errorf("%s: got %d %s, want %d", c.name, got, body, c.want)
		}
	}
	own := headers("Sec-Fetch-Site", "same-origin", "Origin", strings.TrimSuffix(s.url, "/"), "Content-Type", "application/json; charset=utf-8")
	if got, body := s.ask("POST", "jobs/a/cancel", "", own); got != 200 {
		t.Errorf("the page: got %d %s", got, body)
	}
}

// TestPage: the frame has only relative links, keeps a token that it came with, and nothing is loaded from elsewhere.
func TestPage(t *testing.T) {
	const odd = "50%+a b&c=d#e/\"<é"
	s := newSite(t, func(c *server.Config) { c.Name, c.Token = `<img src=x>"`, odd })
	page := func(path string) string {
		status, body := s.ask("GET", path, "", nil)
		if status != 200 {
			t.Fatalf("%s: got %d %s", path, status, body)
		}
		return html.UnescapeString(body)
	}
	get := func() string { _, body := s.ask("GET", "", "", nil); return body }
	escaped := url.QueryEscape(odd)
	plain, with := page(""), page("?token="+escaped)
	if raw := get(); strings.Contains(raw, "<img") || strings.Contains(plain, escaped) || strings.Count(with, "?token="+escaped) < 5 {
		t.Errorf("got\n%s\nand\n%s\nwant names as text, and the token only where it came with it", plain, with)
	}
	if strings.Contains(page("?token=x"), escaped) {
		t.Error("a wrong token is answered by the right one")
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(plain, -1) {
		if link := m[1]; strings.HasPrefix(link, "/") || strings.Contains(link, ":") && link != "data:," {
			t.Errorf("the link %q is not relative", link)
		}
		if !strings.ContainsAny(m[1], "#:") {
			page(m[1])
		}
	}
	for _, file := range []string{"page.js", "page.css"} {
		text := page(file)
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "@import", "url(", "https://"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s", file, bad)
			}
		}
	}
	answer, err := http.Get(s.url)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	for name, want := range map[string]string{"Content-Security-Policy": "frame-ancestors 'none'", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"} {
		if got := answer.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
