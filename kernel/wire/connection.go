package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
)

// ErrConnection reports a connection file that a kernel cannot serve; the text tells why.
var ErrConnection = errors.New("connection file")

// Connection is what a Jupyter client writes into the connection file: where a kernel listens and how messages are signed.
type Connection struct {
	Transport   string `json:"transport"` // "tcp" or "ipc"; empty means tcp
	IP          string `json:"ip"`        // address for tcp ("*": all), path prefix for ipc; empty means 127.0.0.1
	ShellPort   int    `json:"shell_port"`
	IOPubPort   int    `json:"iopub_port"`
	StdinPort   int    `json:"stdin_port"`
	ControlPort int    `json:"control_port"`
	HBPort      int    `json:"hb_port"`
	Key         string `json:"key"`              // empty: messages are not signed
	Scheme      string `json:"signature_scheme"` // empty means hmac-sha256
	KernelName  string `json:"kernel_name,omitempty"`
	CurveKeys          // none: channels are not encrypted
}

// ReadConnection reads and checks the connection file at path.
func ReadConnection(path string) (Connection, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Connection{}, fmt.Errorf("read connection file: %w", err)
	}
	c, err := ParseConnection(raw)
	if err != nil {
		return Connection{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ParseConnection decodes a connection file and fills in what it may leave out. What this kernel cannot honour (another transport, keys of
// CURVE that are none or no pair, an unknown signature scheme, an invalid port) is an error that wraps ErrConnection: a kernel that ignored
// it would be less safe than its client believes.
func ParseConnection(raw []byte) (Connection, error) {
	var c Connection
	if err := json.Unmarshal(raw, &c); err != nil {
		return Connection{}, fmt.Errorf("%w: %w", ErrConnection, jsonFault(raw, err))
	}
	if c.Transport == "" {
		c.Transport = "tcp"
	}
	if c.IP == "" {
		c.IP = "127.0.0.1"
	}
	if c.Scheme == "" {
		c.Scheme = "hmac-sha256"
	}
	return c, c.validate()
}

// jsonFault says what is wrong with a file's JSON in words that name the file's fields, not our types.
func jsonFault(raw []byte, err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return errors.New("it is empty")
	case errors.Is(err, errZ85):
		return fmt.Errorf("curve_publickey or curve_secretkey: %w", errZ85)
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("it is a JSON %s, not an object", kind.Value)
	case errors.As(err, &kind):
		want := "string"
		if kind.Type.Kind() == reflect.Int {
			want = "whole number"
		}
		return fmt.Errorf("%s is a JSON %s, want a %s", kind.Field[strings.LastIndex(kind.Field, ".")+1:], kind.Value, want)
	}
	return fmt.Errorf("it is no JSON: %w", err)
}

// longestPath is how long the path of a socket may be, in bytes.
func longestPath() int {
	if runtime.GOOS == "linux" {
		return 107
	}
	return 103
}

func (c Connection) validate() error {
	if c.Transport != "tcp" && c.Transport != "ipc" {
		return fmt.Errorf("%w: transport %q is neither tcp nor ipc", ErrConnection, c.Transport)
	}
	if _, err := newHash(c.Scheme); err != nil {
		return fmt.Errorf("%w: %w", ErrConnection, err)
	}
	if err := c.CurveKeys.validate(); err != nil {
		return err
	}
	ports := []struct {
		name string
		port int
	}{
		{"shell_port", c.ShellPort}, {"iopub_port", c.IOPubPort}, {"stdin_port", c.StdinPort},
		{"control_port", c.ControlPort}, {"hb_port", c.HBPort},
	}
	taken := map[int]string{}
	for _, p := range ports {
		if p.port < 1 || p.port > 65535 {
			return fmt.Errorf("%w: %s is %d, not a port from 1 to 65535", ErrConnection, p.name, p.port)
		}
		if other := taken[p.port]; other != "" {
			return fmt.Errorf("%w: %s and %s are both %d", ErrConnection, other, p.name, p.port)
		}
		taken[p.port] = p.name
		if network, path := c.Address(p.port); network == "unix" && len(path) > longestPath() {
			return fmt.Errorf("%w: %s has %d bytes, and a socket's path may have %d: choose a shorter ip", ErrConnection, path, len(path), longestPath())
		}
	}
	return nil
}

// Address returns the network ("tcp" or "unix") and address, in package net's words, of the channel with the given port.
func (c Connection) Address(port int) (network, address string) {
	if c.Transport == "ipc" {
		return "unix", c.IP + "-" + strconv.Itoa(port)
	}
	host := c.IP
	if host == "*" {
		host = ""
	}
	return "tcp", net.JoinHostPort(host, strconv.Itoa(port))
}

// Endpoint is where a channel of a kernel is, in package net's words, and the keys that encrypt it.
type Endpoint struct {
	Network string // "tcp" or "unix"
	Address string
	CurveKeys
}

// Endpoint returns that of the channel with the given port.
func (c Connection) Endpoint(port int) Endpoint {
	network, address := c.Address(port)
	return Endpoint{network, address, c.CurveKeys}
}
