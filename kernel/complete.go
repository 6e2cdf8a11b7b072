package kernel

import (
	"context"
	"unicode/utf8"

	"cancha/kernel/cell"
)

type completeReply struct {
	Status   string         `json:"status"`
	Matches  []string       `json:"matches"`
	Start    int            `json:"cursor_start"`
	End      int            `json:"cursor_end"`
	Metadata map[string]any `json:"metadata"`
}

// typedMatch is a completion with its kind, in the field that JupyterLab reads it from.
type typedMatch struct {
	Start     int    `json:"start"`
	End       int    `json:"end"`
	Text      string `json:"text"`
	Type      string `json:"type"`
	Signature string `json:"signature,omitempty"`
}

// cursorRequest is what complete_request and inspect_request have in common: code and a cursor in code points.
type cursorRequest struct {
	Code   string `json:"code"`
	Cursor *int   `json:"cursor_pos"`
	Detail int    `json:"detail_level"`
}

// question reads a request about a cursor. One that is absent stands at the end, one beyond the code at its edge.
func (r *request) question() (cell.Question, error) {
	var q cursorRequest
	if err := r.decode(&q); err != nil {
		return cell.Question{}, err
	}
	end := utf8.RuneCountInString(q.Code)
	cursor := end
	if q.Cursor != nil {
		cursor = min(max(*q.Cursor, 0), end)
	}
	return cell.Question{Code: q.Code, Cursor: cursor, Detail: q.Detail}, nil
}

func (k *Kernel) complete(ctx context.Context, r *request) any {
	q, err := r.question()
	if err != nil {
		return failed("bad request", err)
	}
	ctx, cancel := context.WithTimeout(ctx, questionLimit)
	defer cancel()
	c, err := k.engine.Complete(ctx, q)
	if err != nil {
		return failed("completion failed", err)
	}
	matches, typed := make([]string, 0, len(c.Matches)), make([]typedMatch, 0, len(c.Matches))
	for _, m := range c.Matches {
		matches = append(matches, m.Text)
		typed = append(typed, typedMatch{c.Start, c.End, m.Text, m.Type, m.Signature})
	}
	return completeReply{"ok", matches, c.Start, c.End, map[string]any{"_jupyter_types_experimental": typed}}
}
