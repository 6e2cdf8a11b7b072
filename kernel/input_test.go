package kernel_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cancha/kernel/wire"
)

// askingRequest sends a cell that may ask.
func (b *bench) askingRequest(code string, allowed bool) (header string) {
	b.t.Helper()
	return b.send(b.shell, "execute_request", map[string]any{"code": code, "allow_stdin": allowed})
}

// asked returns the next question and checks where it goes.
func (b *bench) asked(header string) wire.Message {
	b.t.Helper()
	q := b.next(b.stdin)
	b.want("type of the question", q.Header.Type, "input_request")
	b.want("its parent", string(q.Parent), header)
	b.want("whom it goes to", string(q.Identities[0])+"/"+string(q.Identities[1]), "client/hop")
	return q
}

// answer sends an input_reply from a client, which names a question or none.
func (b *bench) answer(identity string, parent json.RawMessage, content any) {
	b.t.Helper()
	m, err := b.session.New("input_reply", parent, content)
	if err != nil {
		b.t.Fatal(err)
	}
	m.Identities = [][]byte{[]byte(identity), []byte("hop")}
	b.stdin.in <- b.session.Encode(m)
}

// outcome returns what the cell has printed, and its reply.
func (b *bench) outcome(header string) (said string, reply map[string]any) {
	b.t.Helper()
	m := b.next(b.shell)
	b.want("parent of the reply", string(m.Parent), header)
	if err := json.Unmarshal(m.Content, &reply); err != nil {
		b.t.Fatal(err)
	}
	return lines(b.heard(header)...), reply
}

// ignored waits until the log tells of n messages that were ignored.
func (b *bench) ignored(n int) {
	b.t.Helper()
	limit := time.Now().Add(5 * time.Second)
	for strings.Count(b.log.String(), "message ignored") < n {
		if time.Now().After(limit) {
			b.t.Fatalf("%d messages should have been ignored: %s", n, b.log)
		}
		time.Sleep(time.Millisecond) // polls the log
	}
}

func TestInput(t *testing.T) {
	for _, c := range []struct {
		name, code string
		reply      any
		request    string // content of the input_request
		printed    string
	}{
		{"a line", "ask Name?", map[string]string{"value": "Ada ø𝔊"}, `{"prompt":"Name?","password":false}`, "Ada ø𝔊"},
		{"an empty line", "ask Name?", map[string]string{"status": "ok", "value": ""}, `{"prompt":"Name?","password":false}`, ""},
		{"a password", "password Secret?", map[string]string{"value": "x"}, `{"prompt":"Secret?","password":true}`, "x"},
		{"the end", "ask More?", map[string]string{"value": "\x04"}, `{"prompt":"More?","password":false}`, "end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			header := b.askingRequest("print before\n"+c.code, true)
			q := b.asked(header)
			b.want("request", string(q.Content), c.request)
			b.answer("client", q.RawHeader, c.reply)
			said, reply := b.outcome(header)
			b.want("status", reply["status"], "ok")
			text, _ := json.Marshal(map[string]string{"name": "stdout", "text": c.printed + "\n"})
			if want := "stream " + string(text); !strings.Contains(said, want) {
				t.Errorf("got %s, want %s in it", said, want)
			}
		})
	}
}

// TestInputNobodyAnswers: where nobody can be asked the cell has an error at once, and nobody is asked.
func TestInputNobodyAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		allowed bool
		answer  any
		want    string
	}{
		{"not allowed", false, nil, "allow_stdin is false"},
		{"an answer without a value", true, map[string]any{"status": "error"}, "without a value"},
		{"an answer that is none", true, map[string]any{"value": 5}, "input_reply"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			header := b.askingRequest("ask Name?", c.allowed)
			if c.answer != nil {
				b.answer("client", b.asked(header).RawHeader, c.answer)
			}
			_, reply := b.outcome(header)
			if got, _ := reply["evalue"].(string); !strings.Contains(got, c.want) {
				t.Errorf("got %v, want an error that names %s", reply, c.want)
			}
			if len(b.stdin.out) > 0 {
				t.Error("somebody was asked")
			}
		})
	}
	b := newBench(t) // absent is no: ipykernel takes it so too
	reply, _ := b.run("ask Name?")
	b.want("allow_stdin absent", reply["status"], "error")
}

// TestInputIgnored: an answer counts only from the client that was asked, to the question that is open.
func TestInputIgnored(t *testing.T) {
	b := newBench(t)
	b.answer("client", nil, map[string]string{"value": "before any question"})
	b.ignored(1)
	first := b.askingRequest("ask a?", true)
	b.asked(first)
	b.kernel.Interrupt()
	_, reply := b.outcome(first)
	b.want("interrupted", reply["status"], "error")

	second := b.askingRequest("ask b?\nask c?", true)
	q := b.asked(second)
	for _, late := range []struct {
		identity, parent string
	}{
		{"client", `{"msg_id":"of another question"}`},
		{"client", first},
		{"other", string(q.RawHeader)},
	} {
		b.answer(late.identity, json.RawMessage(late.parent), map[string]string{"value": "wrong"})
	}
	b.ignored(4)
	b.answer("client", nil, map[string]string{"value": "names no question"})
	b.asked(second)
	b.answer("client", json.RawMessage(second), map[string]string{"value": "names the request"})
	said, _ := b.outcome(second)
	for _, want := range []string{"names no question", "names the request"} {
		if !strings.Contains(said, want) || strings.Contains(said, "wrong") {
			t.Errorf("got %s, want %s in it", said, want)
		}
	}
}

// TestInputTakenBack: an interrupt ends a question at once, and so does the kernel's end.
func TestInputTakenBack(t *testing.T) {
	b := newBench(t)
	header := b.askingRequest("ask Name?", true)
	b.asked(header)
	began := time.Now()
	b.kernel.Interrupt()
	_, reply := b.outcome(header)
	b.want("status", reply["status"], "error")
	if took := time.Since(began); took > 100*time.Millisecond {
		t.Errorf("the cell ended %v after the interrupt", took)
	}
	b.askingRequest("ask Name?", true)
	b.next(b.stdin) // the kernel ends while it waits: see newBench
}
