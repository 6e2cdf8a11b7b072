package connect

import (
	"maps"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"cancha/internal/lastwill"
	"cancha/spark/internal/protocol"
)

// Will is what another process does when this one has ended without: Release. It is sent without grpc, of which an engine has nothing before it
// has this room. file is removed then.
func (c *Client) Will(file string) (lastwill.Will, error) {
	request := new(protocol.ReleaseSessionRequest)
	c.sign(request)
	message, err := proto.Marshal(request)
	if err != nil {
		return lastwill.Will{}, err
	}
	w := lastwill.Will{
		URL: "http://" + c.target.address() + service + "ReleaseSession", Headers: maps.Clone(c.target.Headers), Message: message,
		Gone: []string{sessionUnknown, sessionClosed, sessionChanged}, File: file,
	}
	if w.Headers == nil {
		w.Headers = map[string]string{}
	}
	if c.target.Token != "" {
		w.Headers["authorization"] = "Bearer " + c.target.Token
	}
	if c.target.TLS {
		w.URL = "https" + w.URL[len("http"):]
	}
	if c.target.CAFile != "" {
		w.CAFile, err = filepath.Abs(c.target.CAFile)
	}
	return w, err
}
