package webpage_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cancha/internal/webpage"
)

// TestGuard: who is known and who is foreign; both pages' tests ask the same over HTTP.
func TestGuard(t *testing.T) {
	const token = "50%+a b&c=d#é"
	local, beyond := webpage.NewGuard("127.0.0.1", token), webpage.NewGuard("0.0.0.0", token)
	if webpage.NewGuard("", token).Local || !webpage.NewGuard("LOCALHOST", token).Local || !webpage.NewGuard("::1", token).Local || webpage.NewGuard("127.0.0.1.example", token).Local {
		t.Error("what is loopback has been misread")
	}
	for _, c := range []struct {
		name, address          string
		header                 []string
		local, beyond, foreign bool
	}{
		{"a program", "http://127.0.0.1:8000/", nil, true, false, false},
		{"another name", "http://attacker.example:8000/", nil, false, false, false},
		{"another name with the token", "http://hub.example/" + beyond.Query(), nil, true, true, false},
		{"a token as a scraper has it", "http://hub.example/", []string{"Authorization", "Bearer " + token}, true, true, false},
		{"no token", "http://hub.example/?token=", []string{"Authorization", "Bearer "}, false, false, false},
		{"a token whose scheme is of another case", "http://hub.example/", []string{"Authorization", "bearer  " + token}, true, true, false},
		{"a token without a scheme", "http://hub.example/", []string{"Authorization", token}, false, false, false},
		{"a token of another scheme", "http://hub.example/", []string{"Authorization", "Basic " + token}, false, false, false},
		{"a proxy", "http://127.0.0.1:8000/", []string{"X-Forwarded-Proto", "https"}, false, false, false},
		{"a page behind a proxy that rewrites the name", "http://127.0.0.1:8000/" + beyond.Query(), []string{"X-Forwarded-Host", "hub.example", "Origin", "https://hub.example", "Sec-Fetch-Site", "same-origin"}, true, true, false},
		{"another origin", "http://127.0.0.1:8000/", []string{"Origin", "http://127.0.0.1:8888"}, true, false, true},
		{"a picture elsewhere", "http://127.0.0.1:8000/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, true, false, true},
		{"a link elsewhere", "http://127.0.0.1:8000/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, true, false, false},
	} {
		r := httptest.NewRequest(http.MethodGet, c.address, nil)
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Set(c.header[i], c.header[i+1])
		}
		if got := [3]bool{local.Knows(r), beyond.Knows(r), local.Foreign(r)}; got != [3]bool{c.local, c.beyond, c.foreign} {
			t.Errorf("%s: known here, known beyond, foreign: got %v, want %v", c.name, got, [3]bool{c.local, c.beyond, c.foreign})
		}
		if got, has := beyond.QueryOf(r), strings.Contains(c.address, beyond.Query()); (got != "") != has || has && got != beyond.Query() {
			t.Errorf("%s: links get %q", c.name, got)
		}
	}
}

// TestHosts: what a Host header says is loopback as a whole or not at all.
func TestHosts(t *testing.T) {
	local := webpage.NewGuard("127.0.0.1", "0123456789abcdef")
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost:8000": true, "127.0.0.1": true, "127.0.0.1:80": true, "127.8.9.10:80": true, "[::1]": true, "[::1]:8000": true,
		"localhost:18000.evil.com": false, "localhost:evil.com": false, "localhost:80:evil.com": false, "127.0.0.1:80.evil.com": false, "[::1]:80.evil.com": false, "[::1].evil.com": false,
		"[::1]evil.com:80": false, "localhost:": false, "localhost:99999": false, "localhost:+80": false, "localhost:-1": false, "localhost:80 ": false, "localhost@evil.com": false,
		"localhost:80@evil.com": false, "localhost.evil.com": false, "evil.localhost": false, "localhost.": false, "127.1": false, "2130706433": false, "0x7f.1": false, "::1": false, "[[::1]]": false,
		"[127.0.0.1]": false, "[localhost]": false, "127.0.0.1]": false, "[::1": false, "[]": false, ":8000": false, "": false, "0.0.0.0:8000": false, "[::]:8000": false, "evil.com:80": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
		r.Host = host
		if got := local.Knows(r); got != want {
			t.Errorf("%q: known %v, want %v", host, got, want)
		}
		if webpage.NewStrictGuard("0123456789abcdef").Knows(r) {
			t.Errorf("%q: known without the token", host)
		}
	}
}

// TestPalette: each colour that a page uses is there in both themes, and text can be read on what lies behind it: a contrast of 4.5 (WCAG 2.2, 1.4.3), or 3 of lines
// (1.4.11).
func TestPalette(t *testing.T) {
	w := httptest.NewRecorder()
	webpage.ServePalette(w, nil)
	light, dark, found := strings.Cut(w.Body.String(), "prefers-color-scheme: dark")
	if !found {
		t.Fatalf("got %s", w.Body)
	}
	for _, theme := range []string{light, dark} {
		colours := map[string]string{}
		for _, m := range regexp.MustCompile(`--(\w+): #(\w{6})`).FindAllStringSubmatch(theme, -1) {
			colours[m[1]] = m[2]
		}
		for _, page := range []string{"../../jobs/server/page.css", "../../runtime/monitor/page.css"} {
			css, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`var\(--(\w+)\)`).FindAllStringSubmatch(string(css), -1) {
				if colours[m[1]] == "" {
					t.Errorf("%s uses --%s, which the palette has not", page, m[1])
				}
			}
		}
		for name, colour := range colours {
			least := 4.5
			switch name {
			case "page", "card", "hover", "line":
				continue
			case "c0", "c1", "c2", "c3", "c4", "c5":
				least = 3
			}
			for _, behind := range []string{"page", "card"} {
				if got := contrast(colour, colours[behind]); got < least {
					t.Errorf("--%s on --%s: a contrast of %.2f, want %v", name, behind, got, least)
				}
			}
		}
	}
}

// contrast is that of two colours rrggbb (WCAG 2.2, contrast ratio).
func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(colour string) (sum float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(colour[2*i:2*i+2], 16, 8)
		v := float64(n) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}
