package kernel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"cancha/internal/cellio"
)

// comm sends a message of a comm and returns what was published for it, with the message's id as ID.
func (b *bench) comm(msgType string, content map[string]any) []string {
	b.t.Helper()
	header := b.send(b.shell, msgType, content)
	var h struct {
		ID string `json:"msg_id"`
	}
	if err := json.Unmarshal([]byte(header), &h); err != nil {
		b.t.Fatal(err)
	}
	said := b.heard(header)
	for i := range said {
		said[i] = strings.ReplaceAll(said[i], h.ID, "ID")
	}
	return said
}

// comms asks which comms are open.
func (b *bench) comms(content map[string]any) any {
	b.t.Helper()
	reply, _ := b.ask(b.shell, "comm_info_request", content)
	return reply["comms"]
}

func TestCommOfAFrontEnd(t *testing.T) {
	b := newBench(t)
	b.run("target t")
	printed := `stream {"name":"stdout","text":"echo ID\n"}`
	b.want("open", lines(b.comm("comm_open", map[string]any{"comm_id": "c", "target_name": "t", "data": map[string]any{"n": 1}})...),
		lines(busy, printed, `comm_msg {"comm_id":"c","data":{"n":1}}`, idle))
	b.want("a second one of that id", lines(b.comm("comm_open", map[string]any{"comm_id": "c", "target_name": "t"})...), lines(busy, idle))
	b.want("message without data", lines(b.comm("comm_msg", map[string]any{"comm_id": "c"})...),
		lines(busy, printed, `comm_msg {"comm_id":"c","data":{}}`, idle))
	b.want("handler that fails", lines(b.comm("comm_msg", map[string]any{"comm_id": "c", "data": "fail"})...),
		lines(busy, printed, `error {"ename":"failure","evalue":"comm","traceback":["failure: comm"]}`, idle))
	b.want("comms", b.comms(map[string]any{}), map[string]any{"c": map[string]any{"target_name": "t"}})
	b.want("comms of its target", b.comms(map[string]any{"target_name": "t"}), map[string]any{"c": map[string]any{"target_name": "t"}})
	b.want("comms of another", b.comms(map[string]any{"target_name": "u"}), map[string]any{})
	b.want("comms, asked for in an odd way", b.comms(map[string]any{"target_name": 5}), nil)
	b.want("close", lines(b.comm("comm_close", map[string]any{"comm_id": "c"})...), lines(busy, idle))
	b.want("comms after the close", b.comms(map[string]any{}), map[string]any{})
	for _, content := range []map[string]any{{"comm_id": "c"}, {}, {"comm_id": 5}} {
		for _, msgType := range []string{"comm_msg", "comm_close"} {
			b.want("message of no comm", lines(b.comm(msgType, content)...), lines(busy, idle))
		}
	}
	b.want("open without an id", lines(b.comm("comm_open", map[string]any{"target_name": "t"})...), lines(busy, idle))
	reply, _ := b.run("value 1")
	b.want("count", reply["execution_count"], 2)
}

func TestCommOfACell(t *testing.T) {
	b := newBench(t)
	_, said := b.run("print a\nopen t made\nprint b")
	b.want("order", lines(said[2:]...), lines(`stream {"name":"stdout","text":"a\n"}`,
		`comm_open {"comm_id":"made","target_name":"t","data":{"made":"in a cell"}}`, `stream {"name":"stdout","text":"b\n"}`, idle))
	b.want("comms", b.comms(map[string]any{}), map[string]any{"made": map[string]any{"target_name": "t"}})
	header := b.send(b.shell, "comm_msg", map[string]any{"comm_id": "made", "data": map[string]any{"x": 2}})
	for m := b.next(b.iopub); ; m = b.next(b.iopub) {
		if string(m.Parent) != header {
			t.Errorf("%s has parent %s", m.Header.Type, m.Parent)
		}
		if m.Header.Type == "comm_msg" {
			b.want("its answer", string(m.Content)+string(m.Metadata), `{"comm_id":"made","data":{"x":2}}{}`)
		}
		if strings.Contains(string(m.Content), "idle") {
			break
		}
	}
}

// TestCommsEndWithTheirEngine: front ends are told, under the latest cell.
func TestCommsEndWithTheirEngine(t *testing.T) {
	b := newBench(t)
	b.run("open t two\nopen t one")
	header := b.send(b.shell, "execute_request", map[string]any{"code": "print x"})
	b.heard(header)
	b.next(b.shell)
	b.kernel.EngineEnded()
	for _, id := range []string{"one", "two"} {
		m := b.next(b.iopub)
		b.want("message", m.Header.Type+string(m.Content), `comm_close{"comm_id":"`+id+`","data":{}}`)
		b.want("parent", string(m.Parent), header)
	}
	b.want("comms", b.comms(map[string]any{}), map[string]any{})
}

func TestInterruptEndsAHandler(t *testing.T) {
	b := newBench(t)
	b.run("open t c")
	header := b.send(b.shell, "comm_msg", map[string]any{"comm_id": "c", "data": "loop"})
	for m := b.next(b.iopub); m.Header.Type != "status"; m = b.next(b.iopub) {
	}
	for { // an interrupt that comes before the handler is nobody's
		b.send(b.control, "interrupt_request", map[string]any{})
		b.next(b.control)
		for m := b.next(b.iopub); ; m = b.next(b.iopub) {
			if string(m.Parent) == header && m.Header.Type == "error" {
				return
			}
			if string(m.Parent) != header && strings.Contains(string(m.Content), "idle") {
				break
			}
		}
	}
}

// TestHandlersDoNotPushCellsOut: a cell's goroutine keeps its parent while a slider is dragged.
func TestHandlersDoNotPushCellsOut(t *testing.T) {
	b := newBench(t)
	header := b.send(b.shell, "execute_request", map[string]any{"code": "open t c"})
	b.heard(header)
	b.next(b.shell)
	for range 1500 {
		b.comm("comm_msg", map[string]any{"comm_id": "c"})
	}
	body, _ := json.Marshal(cellio.Stream{Name: "stdout", Text: "late"})
	b.kernel.Output(cellio.Frame{Kind: cellio.KindStream, Cell: 1, Body: body})
	if m := b.next(b.iopub); m.Header.Type != "stream" || string(m.Parent) != header {
		t.Errorf("%s has parent %s, want the cell's", m.Header.Type, m.Parent)
	}
}
