package session

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"cancha/internal/cellio"
)

// TestInputInCell: a question is a frame of the cell, with prompt and password flag, and its reply the answer.
func TestInputInCell(t *testing.T) {
	for _, c := range []struct {
		name  string
		ask   func(string) (string, error)
		reply cellio.InputReply
		want  string
		err   error
	}{
		{"a line", Input, cellio.InputReply{Value: "Ada ø𝔊"}, "Ada ø𝔊", nil},
		{"a password", Password, cellio.InputReply{Value: "secret"}, "secret", nil},
		{"the end", Input, cellio.InputReply{EOF: true}, "", io.EOF},
		{"denied", Input, cellio.InputReply{Err: "not allowed here"}, "", ErrNoInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked cellio.Input
			var asker *cellio.Asker
			asker = cellio.NewAsker(func(f cellio.Frame) error {
				defer asker.Answer(f.Seq, c.reply)
				return json.Unmarshal(f.Body, &asked)
			})
			cellio.AttachAsker(asker)
			defer cellio.AttachAsker(nil)
			run := cellio.NewRun(1)
			asker.Begin(run)
			defer asker.End(run)
			run.Do(func() {
				got, err := c.ask("Name? ")
				if got != c.want || !errors.Is(err, c.err) {
					t.Errorf("got %q, %v, want %q, %v", got, err, c.want, c.err)
				}
			})
			if want := (cellio.Input{Prompt: "Name? ", Password: c.name == "a password"}); asked != want {
				t.Errorf("asked %+v, want %+v", asked, want)
			}
		})
	}
}

// TestInputInProgram: lines are read from a file that is no terminal, none beyond the one that was asked for.
func TestInputInProgram(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("Ada\r\n\nsecret\nno newline"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var out strings.Builder
	for i, want := range []string{"Ada", "", "secret", "no newline"} {
		if got, err := askTerminal(r, &out, "? ", i == 2); got != want || err != nil {
			t.Errorf("line %d: got %q, %v, want %q", i, got, err, want)
		}
	}
	if got, err := askTerminal(r, &out, "? ", false); got != "" || err != io.EOF {
		t.Errorf("at the end: got %q, %v, want EOF", got, err)
	}
	if got, want := out.String(), "? ? ? ? ? "; got != want {
		t.Errorf("written: got %q, want %q", got, want)
	}
}
