package kerneltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/kernel/cell"
	"cancha/kernel/client"
)

// Questions are cells that ask the user. What they print ends with a newline.
type Questions struct {
	Line     string // asks "Name?" and prints the answer; fails where it gets none
	Password string // asks "Secret?" for what is not to be seen, and prints it
	Two      string // asks "a?", then "b?", and prints both answers
	End      string // asks, and prints "end" where the input has ended
	Beside   string // asks "0?", "1?" and "2?" at once, and prints prompt and answer of each
	Late     string // ends at once; a goroutine of it asks some 50 ms later and prints "refused" where it gets no answer

	Plain  map[string]string // by how: read a line by plain means of the language, and print it
	Values string            // reads three numbers by such means, and prints their sum
	Lines  string            // reads lines to the end of the input by such means, and prints each, then "end"
}

// inputCases are the properties of cells that ask.
func inputCases() []namedCase {
	return []namedCase{
		{"54 a question and its answer", inputLine},
		{"54 a password", inputPassword},
		{"54 the end of input", inputEnd},
		{"54 questions not allowed", inputDenied},
		{"54 only the client that runs the cell is asked", inputIdentity},
		{"input: another client's answer does not count", inputForeign},
		{"input: two questions in a row", inputTwo},
		{"input: questions at once are asked one after another", inputBeside},
		{"input: an interrupt takes the question back", inputInterrupt},
		{"input: an answer that nobody waits for", inputUnasked},
		{"input: nobody on the stdin channel", inputNobody},
		{"input: after the cell's end", inputLate},
		{"input: the plain means of the language", inputPlain},
		{"input: several values in one line", inputValues},
		{"input: lines to the end", inputLines},
		{"input: plain means, not allowed or interrupted", inputPlainStops},
	}
}

// script answers questions with these lines, one after another; what is asked is kept.
type script struct {
	mu      sync.Mutex
	answers []string
	asked   []client.Question
}

func (s *script) answer(ctx context.Context, q client.Question) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
	if len(s.answers) == 0 {
		return "", errors.New("nobody answers")
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	if a == "EOF" {
		return "", io.EOF
	}
	return a, nil
}

// answered runs a cell, gives it answers, and checks what it has printed and how often it has asked.
func (s *subject) answered(t *testing.T, code, printedText string, answers ...string) []client.Question {
	t.Helper()
	answerer := &script{answers: slices.Clone(answers)}
	r, ms := s.runWith(t, code, client.ExecuteOptions{Answer: answerer.answer})
	want(t, "status", r.Status, cell.OK)
	want(t, "printed", printed(ms, "stdout"), printedText)
	if len(answerer.asked) != len(answers) {
		t.Fatalf("asked %d times, want %d", len(answerer.asked), len(answers))
	}
	for _, q := range answerer.asked {
		want(t, "parent of the question", q.Message.ParentID(), r.Message.ParentID())
	}
	return answerer.asked
}

func inputLine(t *testing.T, s *subject) {
	need(t, s.Questions.Line)
	for _, line := range []string{"Ada", "", "ø 𝔊 日本 \\n \"x\"", strings.Repeat("long ", 20_000)} {
		asked := s.answered(t, s.Questions.Line, line+"\n", line)
		want(t, "prompt", asked[0].Prompt, "Name?")
		want(t, "password", asked[0].Password, false)
	}
}

func inputPassword(t *testing.T, s *subject) {
	need(t, s.Questions.Password)
	asked := s.answered(t, s.Questions.Password, "ssh\n", "ssh")
	want(t, "prompt", asked[0].Prompt, "Secret?")
	want(t, "password", asked[0].Password, true)
}

func inputEnd(t *testing.T, s *subject) {
	need(t, s.Questions.End)
	s.answered(t, s.Questions.End, "end\n", "EOF")
}

func inputTwo(t *testing.T, s *subject) {
	need(t, s.Questions.Two)
	asked := s.answered(t, s.Questions.Two, "x\ny\n", "x", "y")
	want(t, "prompts", asked[0].Prompt+asked[1].Prompt, "a?b?")
}

func inputBeside(t *testing.T, s *subject) {
	need(t, s.Questions.Beside)
	var asked []string
	r, ms := s.runWith(t, s.Questions.Beside, client.ExecuteOptions{Answer: func(_ context.Context, q client.Question) (string, error) {
		asked = append(asked, q.Prompt)
		return "re " + q.Prompt, nil
	}})
	want(t, "status", r.Status, cell.OK)
	slices.Sort(asked)
	want(t, "asked", asked, []string{"0?", "1?", "2?"})
	lines := strings.Split(strings.TrimSpace(printed(ms, "stdout")), "\n")
	slices.Sort(lines)
	want(t, "printed", lines, []string{"0? re 0?", "1? re 1?", "2? re 2?"})
}

// party is a client of raw messages with shell and stdin under one identity.
type party struct{ shell, stdin *raw }

func (s *subject) party(t *testing.T, identity string) party {
	t.Helper()
	c := s.kernel.Connection()
	return party{s.dial(t, c.ShellPort, identity), s.dial(t, c.StdinPort, identity)}
}

// execute sends a cell and returns the id of its request.
func (p party) execute(t *testing.T, code string, allowed bool) (id string) {
	t.Helper()
	frames, id := p.shell.message(t, "execute_request", map[string]any{"code": code, "allow_stdin": allowed})
	p.shell.send(t, frames)
	return id
}

// answer sends an input_reply.
func (p party) answer(t *testing.T, value string) {
	t.Helper()
	frames, _ := p.stdin.message(t, "input_reply", map[string]any{"value": value})
	p.stdin.send(t, frames)
}

// quiet fails where somebody was asked.
func (p party) quiet(t *testing.T, who string) {
	t.Helper()
	if n := len(p.stdin.replies); n > 0 {
		t.Errorf("%s was asked %d times", who, n)
	}
}

func inputDenied(t *testing.T, s *subject) {
	need(t, s.Questions.Line)
	p := s.party(t, "denied")
	began := time.Now()
	p.execute(t, s.Questions.Line, false)
	reply := content(p.shell.reply(t).Content)
	want(t, "status", reply["status"], "error")
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the error came after %v", took)
	}
	p.quiet(t, "a client that does not allow questions")
	p.execute(t, s.Hello, false)
	want(t, "next cell", content(p.shell.reply(t).Content)["status"], "ok")
	p.quiet(t, "a client that does not allow questions")
}

// inputIdentity: a second client, which has run a cell of its own, is not asked.
func inputIdentity(t *testing.T, s *subject) { s.besideOther(t, func(party) {}) }

func inputForeign(t *testing.T, s *subject) {
	s.besideOther(t, func(other party) {
		other.answer(t, "from somebody else")
		want(t, "kernel_info on control", s.ask(t, client.Control, "kernel_info_request", struct{}{})["status"], "ok")
	})
}

// besideOther asks one client while another one is connected, which does something before the answer is given.
func (s *subject) besideOther(t *testing.T, before func(other party)) {
	t.Helper()
	need(t, s.Questions.Line)
	mine, other := s.party(t, "mine"), s.party(t, "other")
	other.execute(t, s.Hello, true)
	want(t, "the other's cell", content(other.shell.reply(t).Content)["status"], "ok")
	id := mine.execute(t, s.Questions.Line, true)
	q := mine.stdin.reply(t)
	want(t, "question", q.Header.Type, "input_request")
	want(t, "parent", q.ParentID(), id)
	before(other)
	mine.answer(t, "mine")
	want(t, "status", content(mine.shell.reply(t).Content)["status"], "ok")
	want(t, "printed", printed(s.until(t, id, "idle"), "stdout"), "mine\n")
	other.quiet(t, "another client")
}

func inputInterrupt(t *testing.T, s *subject) {
	need(t, s.Questions.Line)
	s.interrupted(t, s.Questions.Line)
	s.answered(t, s.Questions.Line, "after\n", "after")
}

// interrupted runs a cell and interrupts it while it asks.
func (s *subject) interrupted(t *testing.T, code string) {
	t.Helper()
	var began time.Time
	r, ms := s.runWith(t, code, client.ExecuteOptions{Answer: func(ctx context.Context, _ client.Question) (string, error) {
		began = time.Now()
		if err := s.client.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return "too late", nil
	}})
	took := time.Since(began)
	want(t, "status", r.Status, cell.Failed)
	want(t, "errors", len(of(ms, "error")), 1)
	if took > 2*time.Second {
		t.Errorf("the cell ended %v after the interrupt", took)
	}
	t.Logf("the cell ended %v after the interrupt", took.Round(time.Millisecond))
}

func inputUnasked(t *testing.T, s *subject) {
	need(t, s.Questions.Line)
	p := s.party(t, "eager")
	late, err := p.stdin.session.New("input_reply", json.RawMessage(`{"msg_id":"of a question long gone"}`), map[string]string{"value": "late"})
	if err != nil {
		t.Fatal(err)
	}
	p.stdin.send(t, p.stdin.session.Encode(late)) // it names its question, so it does not matter when it arrives
	frames, _ := p.stdin.message(t, "input_reply", "no object")
	p.stdin.send(t, frames)
	frames, _ = p.stdin.message(t, "frobnicate_reply", map[string]any{})
	p.stdin.send(t, frames)
	s.alive(t)
	id := p.execute(t, s.Questions.Line, true)
	p.stdin.reply(t)
	p.answer(t, "after it")
	p.answer(t, "twice")
	want(t, "status", content(p.shell.reply(t).Content)["status"], "ok")
	want(t, "printed", printed(s.until(t, id, "idle"), "stdout"), "after it\n")
}

// inputNobody: a client that says that it can be asked, but has no stdin channel.
func inputNobody(t *testing.T, s *subject) {
	need(t, s.Questions.Line)
	shell := s.dial(t, s.kernel.Connection().ShellPort, "deaf")
	frames, _ := shell.message(t, "execute_request", map[string]any{"code": s.Questions.Line, "allow_stdin": true})
	shell.send(t, frames)
	want(t, "status", content(shell.reply(t).Content)["status"], "error")
}

func inputLate(t *testing.T, s *subject) {
	need(t, s.Questions.Late)
	p := s.party(t, "gone")
	id := p.execute(t, s.Questions.Late, true)
	want(t, "status", content(p.shell.reply(t).Content)["status"], "ok")
	want(t, "printed", printed(s.until(t, id, "stream"), "stdout"), "refused\n")
	p.quiet(t, "a client whose cell has ended")
}

func inputPlain(t *testing.T, s *subject) {
	if len(s.Questions.Plain) == 0 {
		t.Skip("no sample")
	}
	for how, code := range s.Questions.Plain {
		t.Run(how, func(t *testing.T) { s.answered(t, code, "Ada ø𝔊\n", "Ada ø𝔊") })
	}
}

func inputValues(t *testing.T, s *subject) {
	need(t, s.Questions.Values)
	s.answered(t, s.Questions.Values, "42\n", "1 2 39")
	s.answered(t, s.Questions.Values, "42\n", "1", "2", "39")
	s.answered(t, s.Questions.Values, "6\n", "1 2 3 and what is left of a line is not the next cell's")
	s.answered(t, s.Questions.Values, "15\n", "4 5 6")
}

func inputLines(t *testing.T, s *subject) {
	need(t, s.Questions.Lines)
	s.answered(t, s.Questions.Lines, "x\n\nø𝔊\nend\n", "x", "", "ø𝔊", "EOF")
	s.answered(t, s.Questions.Lines, "end\n", "EOF")
}

func inputPlainStops(t *testing.T, s *subject) {
	if len(s.Questions.Plain) == 0 {
		t.Skip("no sample")
	}
	for how, code := range s.Questions.Plain {
		t.Run(how, func(t *testing.T) {
			r, ms := s.run(t, code)
			want(t, "not allowed: status", r.Status, cell.Failed)
			if errs := of(ms, "error"); len(errs) != 1 || !strings.Contains(fmt.Sprint(content(errs[0].Content)["evalue"]), "allow_stdin") {
				t.Errorf("not allowed: got %s, want one error that names allow_stdin", kinds(ms))
			}
			s.interrupted(t, code)
			s.answered(t, code, "after this\n", "after this")
		})
	}
}
