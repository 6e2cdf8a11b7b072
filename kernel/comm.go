package kernel

import "encoding/json"

type commInfoReply struct {
	Status string                     `json:"status"`
	Comms  map[string]json.RawMessage `json:"comms"`
}

// commInfo lists the open comms: this kernel registers no target, so there are none.
func (k *Kernel) commInfo() commInfoReply {
	return commInfoReply{"ok", map[string]json.RawMessage{}}
}

type commClose struct {
	ID   string   `json:"comm_id"`
	Data struct{} `json:"data"`
}

// commOpen refuses a comm whose target is unknown by closing it, as the protocol asks. comm_open has no reply.
func (k *Kernel) commOpen(r *request) any {
	var open struct {
		ID     string `json:"comm_id"`
		Target string `json:"target_name"`
	}
	if err := r.decode(&open); err != nil {
		k.log.Warn("comm_open", "error", err)
		return nil
	}
	k.log.Warn("a comm of an unknown target was closed", "target", open.Target)
	k.publish(r.RawHeader, "comm_close", commClose{ID: open.ID})
	return nil
}
