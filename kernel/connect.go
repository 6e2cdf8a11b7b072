package kernel

type connectReply struct {
	Status  string `json:"status"`
	Shell   int    `json:"shell_port"`
	IOPub   int    `json:"iopub_port"`
	Stdin   int    `json:"stdin_port"`
	HB      int    `json:"hb_port"`
	Control int    `json:"control_port"`
}

// connect tells the ports. Deprecated since protocol 5.1, and cheap.
func (k *Kernel) connect() connectReply {
	c := k.connection
	return connectReply{"ok", c.ShellPort, c.IOPubPort, c.StdinPort, c.HBPort, c.ControlPort}
}
