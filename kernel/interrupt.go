package kernel

type interruptReply struct {
	Status string `json:"status"`
}

// interrupt stops the running cell. The reply does not wait for its end; the cell's own reply tells that.
func (k *Kernel) interrupt() interruptReply {
	k.Interrupt()
	return interruptReply{"ok"}
}
