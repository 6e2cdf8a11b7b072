package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
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
		if path == "" {
			return "", "", fmt.Errorf("address %q, want unix:PATH", address)
		}
		at, err = filepath.Abs(path) // the process may go to another folder
		return "unix", at, err
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

// maxSocket is the longest path of a socket that macOS takes, in bytes; Linux takes four more.
const maxSocket = 103

// reach has something done with a path to a socket that the system takes: where the path is too long, one that goes by a link in a folder
// of its own, which is needed no more when it is done.
func reach(path string, do func(path string) error) error {
	if len(path) <= maxSocket {
		return do(path)
	}
	folder, err := os.MkdirTemp("", "cancha")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	link := filepath.Join(folder, "to")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		return err
	}
	short := filepath.Join(link, filepath.Base(path))
	if len(short) > maxSocket {
		return fmt.Errorf("the name of a Unix socket has at most %d bytes, not %d: %q", maxSocket-len(link)-1, len(filepath.Base(path)), path)
	}
	return do(short)
}

// dialAt connects to a server; one of another user, who was first at a socket that all can reach, would give work of his own.
func dialAt(ctx context.Context, network, at string) (conn net.Conn, err error) {
	dial := func(at string) error {
		conn, err = new(net.Dialer).DialContext(ctx, network, at)
		return err
	}
	if network == "unix" {
		err = reach(at, dial)
	} else {
		err = dial(at)
	}
	if err != nil {
		return nil, fmt.Errorf("no broker answers, start the process that serves it: %w", err)
	}
	if uid := os.Geteuid(); uid != 0 { // root may use everybody's
		err = checkPeer(conn, uid)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", at, err), conn.Close())
	}
	return conn, nil
}

// checkPeer tells where the other side of a socket is neither this user nor root. Where the system does not say, the rights of the socket's
// file have to do.
func checkPeer(conn net.Conn, uid int) error {
	peer, known, err := peerOf(conn)
	if err != nil || !known || peer == uid || peer == 0 {
		return err
	}
	return fmt.Errorf("it belongs to user %d, and this is %d; give another folder", peer, uid)
}
