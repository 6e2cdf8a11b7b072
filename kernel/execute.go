package kernel

import (
	"context"
	"strings"
	"time"

	"cancha/internal/cellio"
	"cancha/kernel/cell"
)

// executeRequest is an execute_request's content. What is absent has the protocol's default.
type executeRequest struct {
	Code            string            `json:"code"`
	Silent          bool              `json:"silent"`
	StoreHistory    bool              `json:"store_history"`
	UserExpressions map[string]string `json:"user_expressions"`
	StopOnError     bool              `json:"stop_on_error"`
	AllowStdin      bool              `json:"allow_stdin"` // absent is no: such a front end may know nothing of questions
}

type executeReply struct {
	Status          string                    `json:"status"`
	Count           int                       `json:"execution_count"`
	UserExpressions map[string]map[string]any `json:"user_expressions"`
	Payload         []payload                 `json:"payload"`
	*cell.Error                               // ename, evalue, traceback: only where the status is "error"
}

// abortedReply has no count, as ipykernel's has none: front ends would show it beside a cell that has not run.
type abortedReply struct {
	Status cell.Status `json:"status"`
}

// payload asks the front end to do something; a page shows data in the pager.
type payload struct {
	Source string         `json:"source"`
	Data   map[string]any `json:"data"`
	Start  int            `json:"start"`
}

type executeInput struct {
	Code  string `json:"code"`
	Count int    `json:"execution_count"`
}

// execute runs a cell. The execution count rises before the cell runs, unless it is silent, not to be stored or blank.
func (k *Kernel) execute(ctx context.Context, r *request) any {
	q := executeRequest{StoreHistory: true, StopOnError: true}
	r.meta = map[string]any{"started": time.Now().UTC().Format(time.RFC3339Nano)}
	if err := r.decode(&q); err != nil {
		result := cell.Result{Status: cell.Failed, Err: &cell.Error{Name: "bad request", Value: err.Error()}}
		result.Err.Traceback = []string{result.Err.Error()}
		return k.executeReply(r, k.counted(), result)
	}
	if r.aborted {
		r.meta["status"] = cell.Aborted
		return abortedReply{cell.Aborted}
	}
	blank := strings.TrimSpace(q.Code) == ""
	stored := q.StoreHistory && !q.Silent && !blank
	count := k.counted()
	if stored {
		count = int(k.count.Add(1))
	}
	if !q.Silent {
		k.publish(r.RawHeader, "execute_input", executeInput{q.Code, count})
	}
	if blank && len(q.UserExpressions) == 0 {
		return k.executeReply(r, count, cell.Result{Status: cell.OK})
	}
	id := k.cells.begin(cellInfo{parent: r.RawHeader, count: count, silent: q.Silent})
	if stored {
		k.history.add(count, id, q.Code)
	}
	k.inputs.begin(id, r, q.AllowStdin)
	result := k.engine.Execute(ctx, cell.Request{
		Cell: id, Count: count, Code: q.Code, Silent: q.Silent, Message: r.Header.ID, Origin: r.cellID(), UserExpressions: q.UserExpressions,
		Subshell: r.shell.id != "",
	})
	k.inputs.end(id)
	k.endCell(r, id, &result)
	if result.Status == cell.Failed && q.StopOnError && !q.Silent { // a front end's own silent question is nobody's cell
		r.shell.queue.abort()
	}
	return k.executeReply(r, count, result)
}

// counted is the execution count so far.
func (k *Kernel) counted() int { return int(k.count.Load()) }

// endCell publishes what was held back of a cell's output, and a failed cell's error.
func (k *Kernel) endCell(r *request, id int64, result *cell.Result) {
	k.endOutput(id)
	k.cells.end(id)
	if result.Status != cell.Failed {
		return
	}
	if result.Err == nil {
		result.Err = &cell.Error{Name: "error", Value: "the engine gave no reason"}
	}
	if result.Err.Traceback == nil {
		result.Err.Traceback = []string{result.Err.Error()}
	}
	plainly(result.Err)
	k.publish(r.RawHeader, "error", result.Err)
}

// plainly takes out of an error's texts what a front end would obey: they may be anybody's.
func plainly(e *cell.Error) {
	e.Name, e.Value = cellio.Plain(e.Name), cellio.Plain(e.Value)
	for i, line := range e.Traceback {
		e.Traceback[i] = cellio.Plain(line)
	}
}

func (k *Kernel) executeReply(r *request, count int, result cell.Result) executeReply {
	reply := executeReply{
		Status: string(result.Status), Count: count, UserExpressions: result.UserExpressions, Payload: []payload{},
	}
	if reply.UserExpressions == nil {
		reply.UserExpressions = map[string]map[string]any{}
	}
	for _, page := range result.Pages {
		reply.Payload = append(reply.Payload, payload{Source: "page", Data: page})
	}
	if result.Status == cell.Failed {
		reply.Error = result.Err
	}
	r.meta["status"] = reply.Status
	if len(result.Waiting) > 0 {
		r.meta["waiting"] = result.Waiting
	}
	return reply
}
