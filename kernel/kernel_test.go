package kernel_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cancha/internal/cellio"
)

func TestCellsOrder(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       []string
	}{
		{"output and value", "print a\neprint b\nvalue 6", []string{
			`stream {"name":"stdout","text":"a\n"}`,
			`stream {"name":"stderr","text":"b\n"}`,
			`execute_result {"data":{"text/plain":"6"},"metadata":{},"transient":{},"execution_count":1}`,
		}},
		{"displays", "show d x\nupdate d y\nclear wait", []string{
			`display_data {"data":{"text/html":"x","text/plain":"x"},"metadata":{},"transient":{"display_id":"d"}}`,
			`update_display_data {"data":{"text/html":"y","text/plain":"y"},"metadata":{},"transient":{"display_id":"d"}}`,
			`clear_output {"wait":true}`,
		}},
		{"error", "print a\nfail no", []string{
			`stream {"name":"stdout","text":"a\n"}`,
			`error {"ename":"failure","evalue":"no","traceback":["failure: no"]}`,
		}},
		{"blank", " \n ", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			_, said := b.run(c.code)
			count := 1
			if c.name == "blank" {
				count = 0
			}
			input, _ := json.Marshal(map[string]any{"code": c.code, "execution_count": count})
			want := append([]string{busy, "execute_input " + string(input)}, c.want...)
			b.want("messages", lines(said...), lines(append(want, idle)...))
		})
	}
}

func TestExecuteReply(t *testing.T) {
	b := newBench(t)
	reply, _ := b.run("value 1")
	b.want("reply", reply, map[string]any{"status": "ok", "execution_count": 1, "payload": []any{}, "user_expressions": map[string]any{}})
	reply, _ = b.run("fail no")
	b.want("failed reply", reply, map[string]any{
		"status": "error", "execution_count": 2, "payload": []any{}, "user_expressions": map[string]any{},
		"ename": "failure", "evalue": "no", "traceback": []any{"failure: no"},
	})
	reply, _ = b.run("page help")
	b.want("payload", reply["payload"], []any{map[string]any{"source": "page", "data": map[string]any{"text/plain": "help"}, "start": 0}})
	reply, _ = b.ask(b.shell, "execute_request", map[string]any{"code": "", "user_expressions": map[string]string{"a": "value 1", "b": "!"}})
	b.want("status", reply["status"], "ok")
	x := reply["user_expressions"].(map[string]any)
	b.want("good expression", x["a"].(map[string]any)["data"], map[string]any{"text/plain": "1"})
	b.want("bad expression", x["b"].(map[string]any)["status"], "error")
	reply, _ = b.ask(b.shell, "execute_request", map[string]any{"code": 5})
	b.want("bad request", reply["status"], "error")
	reply, _ = b.run("crash now")
	b.want("a panic", reply["status"], "error")
	reply, _ = b.run("value 2")
	b.want("after a panic", reply["status"], "ok")
}

func TestCountAndSilence(t *testing.T) {
	b := newBench(t)
	for i, c := range []struct {
		request map[string]any
		count   int
		kinds   string
	}{
		{map[string]any{"code": "value 1"}, 1, "status execute_input execute_result status"},
		{map[string]any{"code": "value 1"}, 2, "status execute_input execute_result status"},
		{map[string]any{"code": "value 1", "store_history": false}, 2, "status execute_input execute_result status"},
		{map[string]any{"code": "value 1\nprint x", "silent": true, "store_history": true}, 2, "status stream status"},
		{map[string]any{"code": "fail x"}, 3, "status execute_input error status"},
		{map[string]any{"code": "value 1"}, 4, "status execute_input execute_result status"},
	} {
		reply, said := b.ask(b.shell, "execute_request", c.request)
		b.want(fmt.Sprintf("count of request %d", i), reply["execution_count"], c.count)
		var kinds []string
		for _, s := range said {
			kind, _, _ := strings.Cut(s, " ")
			kinds = append(kinds, kind)
		}
		b.want(fmt.Sprintf("messages of request %d", i), strings.Join(kinds, " "), c.kinds)
	}
}

func TestErrorsArePlain(t *testing.T) {
	b := newBench(t)
	reply, said := b.run("fail \x1b]8;;http://x\a\u202elink")
	want := `\x1b]8;;http://x\a\u202elink`
	b.want("the reply", reply["evalue"], want)
	b.want("what is published", said[2], `error {"ename":"failure","evalue":"\\x1b]8;;http://x\\a\\u202elink","traceback":["failure: \\x1b]8;;http://x\\a\\u202elink"]}`)
}

func TestErrorAbortsWhatWaits(t *testing.T) {
	for _, stop := range []bool{true, false} {
		t.Run(fmt.Sprintf("stop_on_error %v", stop), func(t *testing.T) {
			b := newBench(t)
			first := b.send(b.shell, "execute_request", map[string]any{"code": "sleep 100ms\nfail x", "stop_on_error": stop})
			second := b.send(b.shell, "execute_request", map[string]any{"code": "print 2"})
			info := b.send(b.shell, "kernel_info_request", map[string]any{})
			third := b.send(b.shell, "execute_request", map[string]any{"code": "print 3"})
			b.heard(first)
			said2, _, said3 := b.heard(second), b.heard(info), b.heard(third)
			want := []string{"error", "aborted", "ok", "aborted"}
			if stop {
				b.want("an aborted cell", lines(said2...), lines(busy, idle))
				b.want("an aborted cell", lines(said3...), lines(busy, idle))
			} else {
				want = []string{"error", "ok", "ok", "ok"}
			}
			for i, w := range want {
				var reply map[string]any
				_ = json.Unmarshal(b.next(b.shell).Content, &reply)
				b.want(fmt.Sprintf("status of reply %d", i), reply["status"], w)
				if w == "aborted" {
					b.want("an aborted cell's reply", reply, map[string]any{"status": "aborted"})
				}
			}
			reply, _ := b.run("print later")
			b.want("a cell sent afterwards", reply["status"], "ok")
		})
	}
}

func TestControlWhileACellRuns(t *testing.T) {
	b := newBench(t)
	cell := b.send(b.shell, "execute_request", map[string]any{"code": "keep it\nprint on\nloop"})
	for m := b.next(b.iopub); m.Header.Type != "stream"; m = b.next(b.iopub) {
	}
	info := b.send(b.control, "kernel_info_request", map[string]any{})
	if got := b.next(b.control); string(got.Parent) != info || got.Header.Type != "kernel_info_reply" {
		t.Errorf("control answered %s", got.Header.Type)
	}
	b.heard(info)
	stop := b.send(b.control, "interrupt_request", map[string]any{})
	b.want("interrupt", string(b.next(b.control).Content), `{"status":"ok"}`)
	for idles := 0; idles < 2; { // the interrupt's and the cell's, in either order
		m := b.next(b.iopub)
		if p := string(m.Parent); p != cell && p != stop {
			t.Errorf("parent %s", p)
		}
		if strings.Contains(string(m.Content), "idle") {
			idles++
		}
	}
	if got := string(b.next(b.shell).Content); !strings.Contains(got, "interrupted") {
		t.Errorf("the cell ended with %s", got)
	}
	reply, _ := b.ask(b.control, "interrupt_request", map[string]any{})
	b.want("interrupt while idle", reply["status"], "ok")
	_, said := b.run("kept")
	b.want("state after the interrupt", said[2], `stream {"name":"stdout","text":"it\n"}`)
}

func TestLateOutputKeepsItsParent(t *testing.T) {
	b := newBench(t)
	first := b.send(b.shell, "execute_request", map[string]any{"code": "late hello"})
	b.heard(first)
	b.next(b.shell)
	b.run("print other")
	m := b.next(b.iopub)
	if string(m.Parent) != first || !strings.Contains(string(m.Content), "hello") {
		t.Errorf("got %s %s under %s, want hello under the first cell", m.Header.Type, m.Content, m.Parent)
	}
}

func TestOutputOfAForgottenCellGoesToTheLatest(t *testing.T) {
	b := newBench(t)
	b.kernel.Output(cellio.Frame{Kind: cellio.KindStream, Cell: 1, Body: []byte(`{}`)}) // before any cell: dropped
	header := b.send(b.shell, "execute_request", map[string]any{"code": "print x"})
	b.heard(header)
	b.kernel.Output(cellio.Frame{Kind: cellio.KindStream, Cell: 99, Body: []byte(`{"name":"stdout","text":"who"}`)})
	b.kernel.Output(cellio.Frame{Kind: cellio.KindStream, Cell: 1, Body: []byte(`damaged`)})
	if m := b.next(b.iopub); string(m.Parent) != header {
		t.Errorf("parent %s, want the latest cell's", m.Parent)
	}
	if !strings.Contains(b.log.String(), "cannot be read") {
		t.Errorf("a damaged frame left no line in the log:\n%s", b.log)
	}
}

func TestQuestions(t *testing.T) {
	b := newBench(t)
	reply, _ := b.ask(b.shell, "complete_request", map[string]any{"code": "𝔊 ke rest", "cursor_pos": 4})
	b.want("matches", reply["matches"], []any{"keep", "kept"})
	b.want("range", fmt.Sprint(reply["cursor_start"], reply["cursor_end"]), "2 4")
	typed := reply["metadata"].(map[string]any)["_jupyter_types_experimental"].([]any)[0].(map[string]any)
	b.want("typed match", typed["type"], "keyword")
	reply, _ = b.ask(b.shell, "complete_request", map[string]any{"code": "ke", "cursor_pos": 99})
	b.want("cursor beyond the end", reply["cursor_end"], 2)
	reply, _ = b.ask(b.shell, "complete_request", map[string]any{"code": "zzz"})
	b.want("no match", reply["matches"], []any{})

	reply, _ = b.ask(b.shell, "inspect_request", map[string]any{"code": "print", "detail_level": 1})
	b.want("inspection", reply["data"], map[string]any{"text/plain": "print: a word (detail 1)"})
	reply, _ = b.ask(b.shell, "inspect_request", map[string]any{"code": "unknown"})
	b.want("unknown name", reply, map[string]any{"status": "ok", "found": false, "data": map[string]any{}, "metadata": map[string]any{}})

	reply, _ = b.ask(b.shell, "is_complete_request", map[string]any{"code": `print \`})
	b.want("incomplete", reply, map[string]any{"status": "incomplete", "indent": "\t"})
	reply, _ = b.ask(b.shell, "is_complete_request", map[string]any{"code": `print`})
	b.want("complete", reply, map[string]any{"status": "complete"})

	reply, _ = b.ask(b.shell, "connect_request", map[string]any{})
	b.want("ports", fmt.Sprint(reply["shell_port"], reply["hb_port"]), "11 15")
}

func TestKernelInfo(t *testing.T) {
	b := newBench(t)
	for _, ch := range []*channel{b.shell, b.control} {
		reply, _ := b.ask(ch, "kernel_info_request", map[string]any{})
		b.want("protocol", reply["protocol_version"], "5.5")
		b.want("features", reply["supported_features"], "[kernel subshells]")
		b.want("implementation", []any{reply["status"], reply["implementation"], reply["implementation_version"]}, "[ok cancha 0.0]")
		if len(reply["help_links"].([]any)) == 0 || !strings.Contains(reply["banner"].(string), "Go") {
			t.Errorf("banner %q, help links %v", reply["banner"], reply["help_links"])
		}
		language := reply["language_info"].(map[string]any)
		b.want("language", []any{language["name"], language["mimetype"], language["file_extension"]}, "[go text/x-go .go]")
		if v := language["version"].(string); !strings.HasPrefix(v, "1.") {
			t.Errorf("version %q, want Go's own before an engine serves", v)
		}
	}
}

func TestComms(t *testing.T) {
	b := newBench(t)
	open := b.send(b.shell, "comm_open", map[string]any{"comm_id": "c", "target_name": "unknown", "data": map[string]any{}})
	b.want("unknown target", lines(b.heard(open)...), lines(busy, `comm_close {"comm_id":"c","data":{}}`, idle))
	msg := b.send(b.shell, "comm_msg", map[string]any{"comm_id": "c"})
	b.want("message", lines(b.heard(msg)...), lines(busy, idle))
	reply, _ := b.ask(b.shell, "comm_info_request", map[string]any{})
	b.want("comms", reply["comms"], map[string]any{})
}

func TestUnknownRequest(t *testing.T) {
	b := newBench(t)
	for _, ch := range []*channel{b.shell, b.control} {
		for _, msgType := range []string{"frobnicate_request", "debug_request", "usage_request", "status", "execute_reply"} {
			header := b.send(ch, msgType, map[string]any{})
			b.want(msgType, lines(b.heard(header)...), lines(busy, idle))
		}
	}
	for _, msgType := range []string{"execute_request", "complete_request", "history_request", "comm_open"} { // of the shell channel
		header := b.send(b.control, msgType, map[string]any{"code": "print no"})
		b.want(msgType+" on control", lines(b.heard(header)...), lines(busy, idle))
	}
	if n := len(b.shell.out) + len(b.control.out); n > 0 {
		t.Errorf("%d replies to what is not known", n)
	}
	reply, _ := b.ask(b.shell, "interrupt_request", map[string]any{})
	b.want("interrupt on shell", reply["status"], "ok")
	if !strings.Contains(b.log.String(), "frobnicate_request") {
		t.Errorf("no line in the log:\n%s", b.log)
	}
}

func TestBadMessagesAreIgnored(t *testing.T) {
	b := newBench(t)
	m, _ := b.session.New("execute_request", nil, map[string]any{"code": "print no"})
	good := b.session.Encode(m)
	forged := append([][]byte{}, good...)
	forged[1] = bytes.Repeat([]byte("0"), 64)
	for _, frames := range [][][]byte{{}, {[]byte("x")}, good[:3], forged} {
		b.shell.in <- frames
		b.control.in <- frames
	}
	b.shell.in <- good
	b.shell.in <- good // a replay
	b.want("the one good message", len(b.heard(string(m.RawHeader))), 4)
	b.want("its reply", b.next(b.shell).ParentID(), m.Header.ID)
	reply, said := b.run("print yes")
	b.want("the next request", reply["execution_count"], 2)
	b.want("its messages", len(said), 4)
	if !strings.Contains(b.log.String(), "message ignored") {
		t.Errorf("no line in the log:\n%s", b.log)
	}
}

func TestShutdown(t *testing.T) {
	for _, during := range []string{"", "loop"} {
		for _, name := range []string{"control", "shell"} {
			if during != "" && name == "shell" {
				continue // a shell request waits for the cell before it
			}
			t.Run(name+" "+during, func(t *testing.T) {
				b := newBench(t)
				if during != "" {
					b.send(b.shell, "execute_request", map[string]any{"code": "print on\n" + during})
					for m := b.next(b.iopub); m.Header.Type != "stream"; m = b.next(b.iopub) {
					}
				}
				ch := map[string]*channel{"control": b.control, "shell": b.shell}[name]
				reply, said := b.ask(ch, "shutdown_request", map[string]any{"restart": true})
				b.want("reply", reply, map[string]any{"status": "ok", "restart": true})
				b.want("published", lines(said...), lines(busy, `shutdown_reply {"status":"ok","restart":true}`, idle))
				select {
				case err := <-b.ended:
					b.ended <- err
				case <-time.After(2 * time.Second):
					t.Error("the kernel has not ended after 2 s")
				}
			})
		}
	}
}

func TestHistory(t *testing.T) {
	b := newBench(t)
	for _, code := range []string{"value 1", "value 22", "print x", "value 1"} {
		b.run(code)
	}
	b.ask(b.shell, "execute_request", map[string]any{"code": "print hidden", "store_history": false})
	for _, c := range []struct {
		name    string
		request map[string]any
		want    string
	}{
		{"tail", map[string]any{"hist_access_type": "tail", "n": 2}, "[[1 3 print x] [1 4 value 1]]"},
		{"tail with output", map[string]any{"hist_access_type": "tail", "n": 2, "output": true}, "[[1 3 [print x <nil>]] [1 4 [value 1 1]]]"},
		{"range", map[string]any{"hist_access_type": "range", "session": 1, "start": 2, "stop": 3}, "[[1 2 value 22]]"},
		{"range of this session", map[string]any{"hist_access_type": "range", "session": 0, "start": 3}, "[[1 3 print x] [1 4 value 1]]"},
		{"range of the session before", map[string]any{"hist_access_type": "range", "session": -1}, "[]"},
		{"all but the last line", map[string]any{"hist_access_type": "range", "start": 3, "stop": -1}, "[[1 3 print x]]"},
		{"between from the end", map[string]any{"hist_access_type": "range", "start": -3, "stop": -1}, "[[1 2 value 22] [1 3 print x]]"},
		{"more than there are, from the end", map[string]any{"hist_access_type": "range", "start": -30, "stop": -30}, "[]"},
		{"last lines", map[string]any{"hist_access_type": "range", "start": -1, "stop": nil}, "[[1 4 value 1]]"},
		{"search", map[string]any{"hist_access_type": "search", "pattern": "value*"}, "[[1 1 value 1] [1 2 value 22] [1 4 value 1]]"},
		{"search unique", map[string]any{"hist_access_type": "search", "pattern": "value ?", "unique": true}, "[[1 4 value 1]]"},
		{"search last", map[string]any{"hist_access_type": "search", "pattern": "*[12]*", "n": 1}, "[[1 4 value 1]]"},
		{"search whole text", map[string]any{"hist_access_type": "search", "pattern": "value"}, "[]"},
		{"search odd pattern", map[string]any{"hist_access_type": "search", "pattern": "[*.(\\"}, "[]"},
		{"unknown access", map[string]any{"hist_access_type": "guess"}, "[]"},
	} {
		reply, _ := b.ask(b.shell, "history_request", c.request)
		b.want(c.name, reply["history"], c.want)
	}
}
