package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"cancha/kernel/wire"
)

// request is a message that a client sent, on its way to an answer.
type request struct {
	wire.Message
	channel string
	router  Router
	shell   *shell         // where it is served; nil on the other channels
	aborted bool           // a cell before it failed; guarded by the queue's lock until it is popped
	meta    map[string]any // metadata of the reply
}

// status is what the kernel does: "starting", "busy" or "idle".
type status struct {
	State string `json:"execution_state"`
}

// failure is the reply to a request that failed.
type failure struct {
	Status    string   `json:"status"` // "error"
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

func failed(name string, err error) failure {
	return failure{Status: "error", Name: name, Value: err.Error(), Traceback: []string{name + ": " + err.Error()}}
}

// later is the content of a reply that has to be waited for: nil where there is none after all.
type later func() any

// serve answers one request: busy, what it does, reply, idle. A reply that comes later does not hold up the channel.
func (k *Kernel) serve(ctx context.Context, r *request) {
	k.publish(r.RawHeader, "status", status{"busy"})
	reply := k.answer(ctx, r)
	if wait, ok := reply.(later); ok {
		k.pending.Go(func() { k.finish(r, wait()) })
		return
	}
	k.finish(r, reply)
}

// finish sends a request's reply, unless it is nil, and its idle.
func (k *Kernel) finish(r *request, reply any) {
	if reply != nil {
		k.reply(r, reply)
	}
	k.publish(r.RawHeader, "status", status{"idle"})
	if r.Header.Type == "shutdown_request" {
		k.stop()
	}
}

// answer does what the request asks for and returns the content of its reply, nil where none is due. A panic in it is an
// error to the client, not the kernel's end.
func (k *Kernel) answer(ctx context.Context, r *request) (reply any) {
	defer func() {
		if p := recover(); p != nil {
			k.log.Error("panic", "request", r.Header.Type, "panic", p, "stack", string(debug.Stack()))
			reply = failed("kernel error", fmt.Errorf("%s: panic: %v", r.Header.Type, p))
		}
	}()
	switch r.Header.Type {
	case "kernel_info_request":
		return k.kernelInfo()
	case "shutdown_request":
		return k.shutdown(r)
	}
	if r.channel == "control" {
		return k.answerControl(ctx, r)
	}
	return k.answerShell(ctx, r)
}

func (k *Kernel) answerControl(ctx context.Context, r *request) any {
	switch r.Header.Type {
	case "interrupt_request":
		return k.interrupt()
	case "create_subshell_request":
		return k.createSubshell(ctx)
	case "delete_subshell_request":
		return k.deleteSubshell(ctx, r)
	case "list_subshell_request":
		return k.listSubshells()
	default:
		return k.unknown(r)
	}
}

func (k *Kernel) answerShell(ctx context.Context, r *request) any {
	switch r.Header.Type {
	case "execute_request":
		return k.execute(ctx, r)
	case "complete_request":
		return k.complete(ctx, r)
	case "inspect_request":
		return k.inspect(ctx, r)
	case "is_complete_request":
		return k.isComplete(ctx, r)
	case "history_request":
		return k.historyReply(r)
	case "comm_info_request":
		return k.commInfo(r)
	case "comm_open", "comm_msg", "comm_close":
		return k.commMessage(ctx, r)
	case "connect_request":
		return k.connect()
	case "interrupt_request": // belongs on control; here it comes between cells
		return k.interrupt()
	default:
		return k.unknown(r)
	}
}

// unknown answers nothing: the protocol asks kernels to tolerate what they do not know.
func (k *Kernel) unknown(r *request) any {
	k.log.Warn("request of an unknown type", "type", r.Header.Type, "channel", r.channel)
	return nil
}

// reply sends the answer to the client that asked, on the channel where it asked.
func (k *Kernel) reply(r *request, content any) {
	m, err := k.session.New(strings.TrimSuffix(r.Header.Type, "_request")+"_reply", r.RawHeader, content)
	if err != nil {
		k.log.Error("reply", "to", r.Header.Type, "error", err)
		return
	}
	m.Identities = r.Identities
	if r.meta != nil {
		if raw, err := json.Marshal(r.meta); err == nil {
			m.Metadata = raw
		}
	}
	if err := r.router.Send(k.session.Encode(m)); err != nil {
		k.log.Warn("a reply has nobody to go to", "to", r.Header.Type, "error", err)
	}
}

// cellID is the id of the cell that a request executes, as JupyterLab, Notebook and VS Code put it into the metadata; "" where a front end does not.
func (r *request) cellID() string {
	var meta struct {
		CellID any `json:"cellId"`
	}
	_ = json.Unmarshal(r.Metadata, &meta) // it is a hint
	id, _ := meta.CellID.(string)
	return id
}

// decode reads a request's content; what is absent keeps the value that into has.
func (r *request) decode(into any) error {
	if err := json.Unmarshal(r.Content, into); err != nil {
		return fmt.Errorf("content of %s: %w", r.Header.Type, err)
	}
	return nil
}
