package kernel

import "context"

type isCompleteReply struct {
	Status string  `json:"status"`
	Indent *string `json:"indent,omitempty"` // only where the status is "incomplete"
}

// isComplete tells a console whether Enter runs the code. Where the engine does not know, neither do we.
func (k *Kernel) isComplete(ctx context.Context, r *request) any {
	var q struct {
		Code string `json:"code"`
	}
	if err := r.decode(&q); err != nil {
		return failed("bad request", err)
	}
	ctx, cancel := context.WithTimeout(ctx, questionLimit)
	defer cancel()
	c, err := k.engine.IsComplete(ctx, q.Code)
	if err != nil {
		k.log.Warn("is_complete", "error", err)
		return isCompleteReply{Status: "unknown"}
	}
	if c.Status == "incomplete" {
		return isCompleteReply{c.Status, &c.Indent}
	}
	return isCompleteReply{Status: c.Status}
}
