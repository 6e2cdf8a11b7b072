package kernel

type shutdownReply struct {
	Status  string `json:"status"`
	Restart bool   `json:"restart"`
}

// shutdown tells every client; after the request's idle the kernel leaves (see serve). Whether it comes back is the
// client's business.
func (k *Kernel) shutdown(r *request) any {
	var q struct {
		Restart bool `json:"restart"`
	}
	if err := r.decode(&q); err != nil {
		k.log.Warn("shutdown", "error", err) // it still means that we shall go
	}
	reply := shutdownReply{"ok", q.Restart}
	k.publish(r.RawHeader, "shutdown_reply", reply)
	return reply
}
