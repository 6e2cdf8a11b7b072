package wire

import "testing"

// FuzzConnection parses arbitrary connection files: what is accepted can be served.
func FuzzConnection(f *testing.F) {
	f.Add([]byte(`{"shell_port":1,"iopub_port":2,"stdin_port":3,"control_port":4,"hb_port":5,"ip":"127.0.0.1","key":"k","transport":"tcp","signature_scheme":"hmac-sha256"}`))
	f.Add([]byte(`{"shell_port":1,"iopub_port":2,"stdin_port":3,"control_port":4,"hb_port":5,"ip":"/tmp/k","transport":"ipc"}`))
	f.Add([]byte(`{"shell_port":"1"}`))
	f.Add([]byte(`[1,2`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ParseConnection(raw)
		if err != nil {
			return
		}
		if _, err := NewSession(c.Key, c.Scheme, "kernel"); err != nil {
			t.Errorf("accepted, and then refused: %v", err)
		}
		for _, port := range []int{c.ShellPort, c.IOPubPort, c.StdinPort, c.ControlPort, c.HBPort} {
			if network, address := c.Address(port); address == "" || network != "tcp" && network != "unix" {
				t.Errorf("address %q of %q", address, network)
			}
		}
	})
}
