package monitor_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"cancha/runtime/monitor"
)

const token = "0123456789abcdef"

// TestGuard: who gets an answer, on loopback and beyond.
func TestGuard(t *testing.T) {
	local := newSite(t, func(c *monitor.Config) { c.Token = token })
	beyond := newSite(t, func(c *monitor.Config) { c.Token, c.Host = token, "0.0.0.0" })
	beyond.url = strings.Replace(beyond.url, "0.0.0.0", "127.0.0.1", 1)
	header := func(pairs ...string) func(*http.Request) {
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
	const api = "api/v1/applications"
	for _, c := range []struct {
		name, path string
		change     func(*http.Request)
		local      int // what a page on loopback answers
		beyond     int
	}{
		{"by its address", api, nil, 200, 403},
		{"as localhost", api, header("Host", "localhost:4040"), 200, 403},
		{"as ::1", api, header("Host", "[::1]:4040"), 200, 403},
		{"a name that resolves to loopback", api, header("Host", "attacker.example:4040"), 403, 403},
		{"a name that begins like an address", api, header("Host", "127.0.0.1.attacker.example"), 403, 403},
		{"the address of all interfaces", api, header("Host", "0.0.0.0:4040"), 403, 403},
		{"a proxy that names loopback", api, header("Host", "127.0.0.1:4040", "X-Forwarded-For", "203.0.113.9"), 403, 403},
		{"a proxy by its standard header", api, header("Forwarded", "for=203.0.113.9"), 403, 403},
		{"a proxy that tells the host", api, header("X-Forwarded-Host", "hub.example"), 403, 403},
		{"a proxy that tells the caller alone", api, header("X-Real-IP", "203.0.113.9"), 403, 403},
		{"a proxy that tells of itself alone", api, header("Via", "1.1 hub.example"), 403, 403},
		{"a proxy, with the token", api + "?token=" + token, header("X-Forwarded-For", "203.0.113.9"), 200, 200},
		{"a proxy, with a wrong token", "?token=x", header("X-Forwarded-For", "203.0.113.9"), 403, 403},
		{"no host", api, header("Host", "."), 403, 403},
		{"another name with the token", api + "?token=" + token, header("Host", "hub.example"), 200, 200},
		{"another name with a wrong token", api + "?token=" + token + "x", header("Host", "hub.example"), 403, 403},
		{"an empty token", api + "?token=", header("Host", "hub.example"), 403, 403},
		{"the token as a scraper sends it", "metrics", header("Host", "jupyter-lab:4040", "Authorization", "Bearer "+token), 200, 200},
		{"the page's files too", "page.js", header("Host", "attacker.example"), 403, 403},
		{"the page too", "", header("Host", "attacker.example"), 403, 403},
		{"a script of another origin", api + "?token=" + token, header("Origin", "http://attacker.example"), 403, 403},
		{"a script of another port", api + "?token=" + token, header("Origin", "http://127.0.0.1:8888"), 403, 403},
		{"a sandboxed page", api + "?token=" + token, header("Origin", "null"), 403, 403},
		{"a picture on another page", api + "?token=" + token, header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"), 403, 403},
		{"a script of the same site", api + "?token=" + token, header("Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"), 403, 403},
		{"a frame on another page", "?token=" + token, header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"), 403, 403},
		{"a link on another page", "?token=" + token, header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), 200, 200},
		{"the page's own script", api + "?token=" + token, header("Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"), 200, 200},
	} {
		if got, body := local.ask("GET", c.path, c.change); got != c.local {
			t.Errorf("%s, on loopback: got %d %s, want %d", c.name, got, body, c.local)
		}
		if got, body := beyond.ask("GET", c.path, c.change); got != c.beyond {
			t.Errorf("%s, beyond it: got %d %s, want %d", c.name, got, body, c.beyond)
		}
	}
}

// TestChange: a query is ended by the page alone, and by a POST.
func TestChange(t *testing.T) {
	s := newSite(t)
	secret := regexp.MustCompile(`data-csrf="([^"]+)"`).FindStringSubmatch(s.get(""))[1]
	const stop = "api/v1/applications/x/streaming/queries/1/stop"
	for _, c := range []struct {
		name, method string
		change       func(*http.Request)
		want         int
	}{
		{"GET", "GET", nil, 405},
		{"PUT", "PUT", nil, 405},
		{"a form, which can have no header", "POST", nil, 403},
		{"a wrong secret", "POST", func(r *http.Request) { r.Header.Set("X-Cancha-Page", secret+"x") }, 403},
		{"another origin that knows it", "POST", func(r *http.Request) {
			r.Header.Set("X-Cancha-Page", secret)
			r.Header.Set("Origin", "http://attacker.example")
		}, 403},
		{"a link of another page", "POST", func(r *http.Request) {
			r.Header.Set("X-Cancha-Page", secret)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", "document")
		}, 403},
	} {
		if got, body := s.ask(c.method, stop, c.change); got != c.want || s.query.ends != "" {
			t.Errorf("%s: got %d %s, want %d; it was ended by %q", c.name, got, body, c.want, s.query.ends)
		}
	}
	own := func(r *http.Request) {
		r.Header.Set("X-Cancha-Page", secret)
		r.Header.Set("Origin", strings.TrimSuffix(s.url, "/"))
	}
	if got, body := s.ask("POST", stop, own); got != 200 || s.query.ends != "stop" {
		t.Errorf("the page: got %d %s, ended by %q, want 200 and stop", got, body, s.query.ends)
	}
	if got, body := s.ask("POST", stop, own); got != 409 || !strings.Contains(body, "has ended") {
		t.Errorf("once more: got %d %s, want 409", got, body)
	}
	if got, _ := s.ask("POST", strings.Replace(stop, "/1/", "/2/", 1), own); got != 404 {
		t.Errorf("a fit: got %d, want 404", got)
	}
}

// TestPage: the frame has only relative links, keeps a token that it came with, and nothing is loaded from elsewhere.
func TestPage(t *testing.T) {
	s := newSite(t, func(c *monitor.Config) { c.Name, c.Token = hostile, token })
	page, with := s.get(""), s.get("?token="+token)
	if strings.Contains(page, "<img") || strings.Contains(page, token) || !strings.Contains(with, `src="page.js?token=`+token) {
		t.Errorf("got\n%s\nand\n%s\nwant names as text, and the token only where it came with it", page, with)
	}
	if wrong := s.get("?token=x"); strings.Contains(wrong, token) {
		t.Errorf("got\n%s\nfor a wrong token, with the right one", wrong)
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if link := m[1]; strings.HasPrefix(link, "/") || strings.Contains(link, ":") && !strings.HasPrefix(link, "data:") {
			t.Errorf("the link %q is not relative", link)
		}
	}
	for _, file := range []string{"page.js", "page.css"} {
		text := s.get(file)
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
	for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"} {
		if got := answer.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestAnyToken: a token with characters that mean something in an address works in each link: that of the registry, and those of the page.
func TestAnyToken(t *testing.T) {
	s := newSite(t, func(c *monitor.Config) { c.Host, c.Token = "0.0.0.0", "50%+a b&c=d#e/\"<é" })
	for _, link := range []string{s.registry.Page().URL, s.registry.Page().Proxied} {
		_, query, _ := strings.Cut(link, "?")
		page := html.UnescapeString(s.get("?" + query))
		for _, m := range regexp.MustCompile(`(?:href|src|data-token)="[a-z0-9/.]*(\?[^"]*)"`).FindAllStringSubmatch(page, -1) {
			s.get("page.js" + m[1])
		}
		if n := strings.Count(page, "?"+query); n < 5 {
			t.Errorf("got the token %d times in\n%s\nwant it in each link", n, page)
		}
	}
}
