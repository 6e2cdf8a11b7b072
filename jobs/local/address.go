package local

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
)

// Socket is the address of a Unix socket in a folder of queues: where Serve and Dial meet if nobody says otherwise.
func Socket(folder string) string {
	if all, err := filepath.Abs(folder); err == nil {
		folder = all
	}
	return "unix:" + filepath.Join(folder, "socket")
}

// parse reads an address: unix:PATH, or HOST:PORT of loopback, with which a token is needed.
func parse(address, token string) (network, at string, err error) {
	if path, is := strings.CutPrefix(address, "unix:"); is {
		if len(path) > maxSocket || path == "" {
			return "", "", fmt.Errorf("the path of a Unix socket has 1 to %d bytes, not %d: %q", maxSocket, len(path), path)
		}
		return "unix", path, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", "", fmt.Errorf("address %q, want unix:PATH or HOST:PORT: %w", address, err)
	}
	if ip := net.ParseIP(host); !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
		return "", "", fmt.Errorf("address %q is beyond this machine, want a loopback address; queues for several machines need RabbitMQ", address)
	}
	if token == "" {
		return "", "", errors.New("a token is needed over TCP: each user of this machine can reach the port")
	}
	return "tcp", net.JoinHostPort(host, port), nil
}

// maxSocket is the longest path that macOS takes, in bytes; Linux takes four more.
const maxSocket = 103
