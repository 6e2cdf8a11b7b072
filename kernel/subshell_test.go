package kernel_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/kernel/wire"
)

// create makes a subshell.
func (b *bench) create() (id string) {
	b.t.Helper()
	reply, said := b.ask(b.control, "create_subshell_request", map[string]any{})
	b.want("status", reply["status"], "ok")
	b.want("fields", len(reply), 2)
	b.want("messages", lines(said...), lines(busy, idle))
	id, _ = reply["subshell_id"].(string)
	if id == "" {
		b.t.Fatalf("reply %v, want a subshell_id", reply)
	}
	return id
}

// sendOn sends a request for a subshell and returns its header.
func (b *bench) sendOn(subshell, msgType string, content any) string {
	b.t.Helper()
	m, err := b.session.New(msgType, nil, content)
	if err != nil {
		b.t.Fatal(err)
	}
	m.Header.Subshell = subshell
	if m.RawHeader, err = json.Marshal(m.Header); err != nil {
		b.t.Fatal(err)
	}
	m.Identities = [][]byte{[]byte("client"), []byte("hop")}
	b.shell.in <- b.session.Encode(m)
	return string(m.RawHeader)
}

// askOn asks on a subshell while others may be busy, and returns the reply and what was published for it.
func (b *bench) askOn(subshell, msgType string, content any) (reply map[string]any, said []string) {
	b.t.Helper()
	header := b.sendOn(subshell, msgType, content)
	m := b.next(b.shell)
	b.want("parent of the reply", string(m.Parent), header)
	if err := json.Unmarshal(m.Content, &reply); err != nil {
		b.t.Fatal(err)
	}
	return reply, b.until(header)
}

// until returns what was published under a header up to its idle, and drops what others published meanwhile.
func (b *bench) until(header string) (said []string) {
	b.t.Helper()
	for {
		m := b.next(b.iopub)
		if string(m.Parent) != header {
			continue
		}
		said = append(said, m.Header.Type+" "+string(m.Content))
		if said[len(said)-1] == idle {
			return said
		}
	}
}

// running starts a cell that does not end and returns its header once it runs.
func (b *bench) running(subshell string) string {
	b.t.Helper()
	header := b.sendOn(subshell, "execute_request", map[string]any{"code": "print on\nloop"})
	for m := b.next(b.iopub); m.Header.Type != "stream"; m = b.next(b.iopub) {
	}
	return header
}

func TestSubshellsAreListed(t *testing.T) {
	b := newBench(t)
	list := func(want ...any) {
		t.Helper()
		reply, said := b.ask(b.control, "list_subshell_request", map[string]any{})
		b.want("reply", reply, map[string]any{"status": "ok", "subshell_id": append([]any{}, want...)})
		b.want("messages", lines(said...), lines(busy, idle))
	}
	list()
	one, two := b.create(), b.create()
	if one == two {
		t.Errorf("two subshells are called %s", one)
	}
	list(one, two)
	reply, said := b.ask(b.control, "delete_subshell_request", map[string]any{"subshell_id": one})
	b.want("deleted", reply, map[string]any{"status": "ok"})
	b.want("messages", lines(said...), lines(busy, idle))
	list(two)
	for _, gone := range []string{one, "never", ""} {
		reply, _ = b.ask(b.control, "delete_subshell_request", map[string]any{"subshell_id": gone})
		b.want("deleted again", reply, map[string]any{
			"status": "error", "ename": "UnknownSubshellError", "evalue": "Unknown subshell_id '" + gone + "'", "traceback": []any{},
		})
	}
	reply, _ = b.ask(b.control, "delete_subshell_request", map[string]any{"subshell_id": 5})
	b.want("an id that is none", reply["status"], "error")
}

func TestSubshellsAreBounded(t *testing.T) {
	b := newBench(t)
	for range 256 {
		b.create()
	}
	reply, _ := b.ask(b.control, "create_subshell_request", map[string]any{})
	b.want("one too many", reply["status"], "error")
	if text := fmt.Sprint(reply["evalue"]); !strings.Contains(text, "256") {
		t.Errorf("the error says %q, want the bound in it", text)
	}
	list, _ := b.ask(b.control, "list_subshell_request", map[string]any{})
	first := list["subshell_id"].([]any)[0]
	b.ask(b.control, "delete_subshell_request", map[string]any{"subshell_id": first})
	b.create()
}

// TestSubshellAnswersWhileACellRuns asks everything that needs no cell, and runs one, while the main shell is busy.
func TestSubshellAnswersWhileACellRuns(t *testing.T) {
	b := newBench(t)
	id := b.create()
	cell := b.running("")
	for _, c := range []struct{ request, content string }{
		{"complete_request", `{"code":"ke","cursor_pos":2}`},
		{"inspect_request", `{"code":"print","cursor_pos":1}`},
		{"is_complete_request", `{"code":"print"}`},
		{"history_request", `{"hist_access_type":"tail","n":1}`},
		{"comm_info_request", `{}`},
		{"kernel_info_request", `{}`},
		{"connect_request", `{}`},
		{"execute_request", `{"code":"print beside"}`},
	} {
		reply, said := b.askOn(id, c.request, json.RawMessage(c.content))
		want := "ok"
		if c.request == "is_complete_request" {
			want = "complete"
		}
		b.want(c.request, reply["status"], want)
		b.want(c.request+": first message", said[0], busy)
	}
	b.send(b.control, "interrupt_request", map[string]any{})
	b.want("the cell's parent", string(b.next(b.shell).Parent), cell)
}

func TestSubshellKeepsItsOrder(t *testing.T) {
	b := newBench(t)
	id := b.create()
	var want []string
	for i := range 20 {
		want = append(want, b.sendOn(id, "execute_request", map[string]any{"code": fmt.Sprintf("print %d", i)}))
	}
	for i, header := range want {
		b.want(fmt.Sprintf("parent of reply %d", i), string(b.next(b.shell).Parent), header)
	}
}

func TestUnknownSubshellIsAnswered(t *testing.T) {
	b := newBench(t)
	gone := b.create()
	b.ask(b.control, "delete_subshell_request", map[string]any{"subshell_id": gone})
	for _, id := range []string{gone, "never"} {
		text := "Unknown subshell_id '" + id + "'"
		reply, said := b.askOn(id, "complete_request", map[string]any{"code": "ke"})
		b.want("completion", reply, map[string]any{"status": "error", "ename": "UnknownSubshellError", "evalue": text, "traceback": []any{}})
		b.want("messages", lines(said...), lines(busy, idle))
		reply, said = b.askOn(id, "execute_request", map[string]any{"code": "print no"})
		b.want("cell", fmt.Sprint(reply["status"], reply["ename"], reply["evalue"], reply["execution_count"]), fmt.Sprint("error", "UnknownSubshellError", text, 0))
		b.want("messages", lines(said...), lines(busy, idle))
		header := b.sendOn(id, "comm_msg", map[string]any{"comm_id": "c"})
		b.want("a message without a reply", lines(b.heard(header)...), lines(busy, idle))
	}
	reply, _ := b.run("print yes")
	b.want("the main shell", reply["status"], "ok")
}

// TestShutdownOnAnUnknownSubshell is answered: it means the kernel, not a shell.
func TestShutdownOnAnUnknownSubshell(t *testing.T) {
	b := newBench(t)
	reply, said := b.askOn("never", "shutdown_request", map[string]any{"restart": true})
	b.want("reply", reply, map[string]any{"status": "ok", "restart": true})
	b.want("messages", lines(said...), lines(busy, `shutdown_reply {"status":"ok","restart":true}`, idle))
	b.ended <- <-b.ended
}

// TestDeletedSubshellEndsItsCell: the reply to the deletion waits for the cell that runs there, which an interrupt ends; control
// and the other shells go on meanwhile, and what waited is refused.
func TestDeletedSubshellEndsItsCell(t *testing.T) {
	b := newBench(t)
	id := b.create()
	cell := b.running(id)
	waiting := b.sendOn(id, "execute_request", map[string]any{"code": "print no"})
	b.ask(b.control, "list_subshell_request", map[string]any{}) // so that the cell has arrived
	deletion := b.send(b.control, "delete_subshell_request", map[string]any{"subshell_id": id})
	refused := b.next(b.shell)
	b.want("parent of what is refused", string(refused.Parent), waiting)
	if !strings.Contains(string(refused.Content), "UnknownSubshellError") {
		t.Errorf("what waited was answered %s", refused.Content)
	}
	header := b.send(b.control, "list_subshell_request", map[string]any{})
	m := b.next(b.control)
	b.want("control answers", string(m.Parent), header)
	b.want("list", string(m.Content), `{"status":"ok","subshell_id":[]}`)
	header = b.send(b.control, "interrupt_request", map[string]any{})
	replies := map[string]string{}
	for range 2 {
		m := b.next(b.control)
		replies[string(m.Parent)] = string(m.Content)
	}
	b.want("interrupt", replies[header], `{"status":"ok"}`)
	b.want("deletion", replies[deletion], `{"status":"ok"}`)
	b.want("the cell's parent", string(b.next(b.shell).Parent), cell)
}

// TestInterruptReachesAllShells ends cells on the main shell and on two subshells.
func TestInterruptReachesAllShells(t *testing.T) {
	b := newBench(t)
	cells := map[string]bool{b.running(""): true}
	for range 2 {
		cells[b.running(b.create())] = true
	}
	b.send(b.control, "interrupt_request", map[string]any{})
	for range 3 {
		m := b.next(b.shell)
		if !cells[string(m.Parent)] || !strings.Contains(string(m.Content), "interrupted") {
			t.Errorf("reply %s under %s", m.Content, m.Parent)
		}
		delete(cells, string(m.Parent))
	}
}

// TestErrorAbortsItsOwnShell: what waits on another shell runs.
func TestErrorAbortsItsOwnShell(t *testing.T) {
	for _, failing := range []string{"main", "sub"} {
		t.Run(failing, func(t *testing.T) {
			b := newBench(t)
			ids := map[string]string{"main": "", "sub": b.create()}
			status := map[string]string{}
			for name, id := range ids {
				code := "sleep 100ms"
				if name == failing {
					code += "\nfail x"
				}
				status[b.sendOn(id, "execute_request", map[string]any{"code": code})] = name + " first"
				status[b.sendOn(id, "execute_request", map[string]any{"code": "print x"})] = name + " second"
			}
			got := map[string]any{}
			for range 4 {
				m := b.next(b.shell)
				var reply map[string]any
				_ = json.Unmarshal(m.Content, &reply)
				got[status[string(m.Parent)]] = reply["status"]
			}
			want := map[string]any{"main first": "ok", "main second": "ok", "sub first": "ok", "sub second": "ok"}
			want[failing+" first"], want[failing+" second"] = "error", "aborted"
			b.want("statuses", got, want)
		})
	}
}

// TestSilentErrorAbortsNothing: a front end's own question fails without a cell's being aborted, as with ipykernel.
func TestSilentErrorAbortsNothing(t *testing.T) {
	b := newBench(t)
	b.send(b.shell, "execute_request", map[string]any{"code": "sleep 100ms\nfail x", "silent": true})
	b.send(b.shell, "execute_request", map[string]any{"code": "print x"})
	for _, want := range []string{"error", "ok"} {
		var reply map[string]any
		_ = json.Unmarshal(b.next(b.shell).Content, &reply)
		b.want("status", reply["status"], want)
	}
}

// TestShutdownEndsSubshells: a kernel leaves in time though subshells are busy and one is being deleted.
func TestShutdownEndsSubshells(t *testing.T) {
	b := newBench(t)
	one, two := b.create(), b.create()
	b.running(one)
	b.running(two)
	b.send(b.control, "delete_subshell_request", map[string]any{"subshell_id": two})
	began := time.Now()
	b.send(b.control, "shutdown_request", map[string]any{})
	select {
	case err := <-b.ended:
		b.ended <- err
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the kernel has not ended")
	}
	if strings.Contains(b.log.String(), "took too long") {
		t.Errorf("the log says\n%s", b.log)
	}
}

// TestHeaderOfARequestForASubshell is answered exactly, its subshell_id and fields that we do not know included.
func TestHeaderOfARequestForASubshell(t *testing.T) {
	b := newBench(t)
	id := b.create()
	raw := fmt.Sprintf(`{"msg_id":"m", "msg_type":"kernel_info_request","subshell_id":%q,"session":"s","extra":[1, 2],"date":"x","version":"5.5","username":"u"}`, id)
	b.shell.in <- b.session.Encode(wire.Message{RawHeader: []byte(raw), Parent: []byte("{}"), Metadata: []byte("{}"), Content: []byte("{}")})
	m := b.next(b.shell)
	b.want("parent", string(m.Parent), raw)
	b.want("the kernel's own header", m.Header.Subshell, "")
	b.want("messages", lines(b.heard(raw)...), lines(busy, idle))
	null := strings.NewReplacer(fmt.Sprintf("%q", id), "null", `"m"`, `"n"`).Replace(raw)
	b.shell.in <- b.session.Encode(wire.Message{RawHeader: []byte(null), Parent: []byte("{}"), Metadata: []byte("{}"), Content: []byte("{}")})
	b.want("parent of a request for the main shell", string(b.next(b.shell).Parent), null)
}
