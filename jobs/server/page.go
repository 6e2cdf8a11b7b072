package server

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
	Name, Version string
	Token         string // "?token=…" where the request came with it: links keep it
}

// pageRoutes adds the page's own files.
func (s *Server) pageRoutes(m *http.ServeMux) {
	m.HandleFunc("GET /{$}", s.servePage)
	m.HandleFunc("GET /palette.css", webpage.ServePalette)
	m.HandleFunc("GET /page.css", serveFile("text/css; charset=utf-8"))
	m.HandleFunc("GET /page.js", serveFile("text/javascript; charset=utf-8"))
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	f := frame{Name: s.config.Name, Version: s.config.Version, Token: s.guard.QueryOf(r)}
	var b strings.Builder
	t, err := template.ParseFS(files, "page.html")
	if err == nil {
		err = t.Execute(&b, f)
	}
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, failure{err.Error()})
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
