package kernel

import "context"

type inspectReply struct {
	Status   string         `json:"status"`
	Found    bool           `json:"found"`
	Data     map[string]any `json:"data"`
	Metadata map[string]any `json:"metadata"`
}

func (k *Kernel) inspect(ctx context.Context, r *request) any {
	q, err := r.question()
	if err != nil {
		return failed("bad request", err)
	}
	ctx, cancel := context.WithTimeout(ctx, questionLimit)
	defer cancel()
	i, err := k.engine.Inspect(ctx, q)
	if err != nil {
		return failed("inspection failed", err)
	}
	if !i.Found || i.Data == nil {
		i.Data = map[string]any{}
	}
	return inspectReply{"ok", i.Found, i.Data, map[string]any{}}
}
