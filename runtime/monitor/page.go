package monitor

import (
	"embed"
	"html/template"
	"net/http"
	"strings"

	"cancha/internal/webpage"
)

// files are the page: a frame that is filled in here, a style and a script, all our own. Nothing is loaded from elsewhere.
//
//go:embed page.html page.css page.js
var files embed.FS

// frame is what the page's frame is filled in with.
type frame struct {
	App, Name, Version string
	Token              string // "?token=…" where the request came with one: links keep it
	CSRF               string
}

// pageRoutes adds the page's own files.
func (s *Server) pageRoutes(m *http.ServeMux) {
	m.HandleFunc("GET /{$}", s.servePage)
	m.HandleFunc("GET /palette.css", webpage.ServePalette)
	m.HandleFunc("GET /page.css", serveFile("text/css; charset=utf-8"))
	m.HandleFunc("GET /page.js", serveFile("text/javascript; charset=utf-8"))
	m.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
}

// servePage fills the frame in. The template is parsed each time: that takes less than a browser needs to show it, and the engine's start, which
// every session waits for, nothing.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	t, err := template.ParseFS(files, "page.html")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	f := frame{App: s.app.ID, Name: s.config.Name, Version: s.config.Version, CSRF: s.guard.csrf, Token: s.guard.QueryOf(r)}
	var b strings.Builder
	if err := t.Execute(&b, f); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(b.String())) // whoever asked has gone
}

func serveFile(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		http.ServeFileFS(w, r, files, strings.TrimPrefix(r.URL.Path, "/"))
	}
}
