package local

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSocketRights: there is no moment at which another user could connect.
func TestSocketRights(t *testing.T) {
	folder, err := os.MkdirTemp("", "jobs")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path, stop, seen := filepath.Join(folder, "socket"), make(chan struct{}), make(chan fs.FileMode, 1)
	go func() { // the widest rights that it has had
		var widest fs.FileMode
		for {
			select {
			case <-stop:
				seen <- widest
				return
			default:
				if info, err := os.Lstat(path); err == nil {
					widest |= info.Mode().Perm()
				}
			}
		}
	}()
	for range 300 {
		l, err := listenUnix(path)
		if err == nil {
			err = errors.Join(l.Close(), os.Remove(path))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if widest := <-seen; widest&^0o600 != 0 {
		t.Errorf("the socket had %v, want 0600 at most", widest)
	}
}

// asUser, in the environment, has TestOtherUsers be a process of another user, who does what it says.
const asUser = "CANCHA_TEST_JOBS_USER"

// TestOtherUsers: somebody else does not get through to a server, nor has his own taken for ours, where a socket's rights would allow it.
// Only root may be others.
func TestOtherUsers(t *testing.T) {
	if as := os.Getenv(asUser); as != "" {
		beAnother(t, as)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, who may be others")
	}
	folder, err := os.MkdirTemp("", "jobs")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "socket")
	s, err := Serve(&Broker{}, "unix:"+path, "")
	if err == nil {
		err = errors.Join(os.Chmod(folder, 0o777), os.Chmod(path, 0o777))
	}
	if err != nil {
		t.Fatal(err)
	}
	if says := another(t, fmt.Sprintf("1001 dials %s", path)); !strings.Contains(says, "says: jobs/local: dial: ") ||
		strings.Contains(says, "no broker answers") {
		t.Errorf("another user got through: %s", says)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if says := another(t, fmt.Sprintf("1001 serves %s", path)); !strings.Contains(says, "belongs to user 1001, and this is 1002") {
		t.Errorf("another user was taken for this one: %s", says)
	}
}

// another runs a process of another user, and returns what it says.
func another(t *testing.T, as string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestOtherUsers$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), asUser+"="+as)
	text, err := cmd.CombinedOutput()
	if strings.Contains(string(text), syscall.EPERM.Error()) {
		t.Skipf("this root may not be others: %s", text)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return string(text)
}

// beAnother dials; or listens, and then dials as a third user.
func beAnother(t *testing.T, as string) {
	var uid int
	var what, path string
	if _, err := fmt.Sscan(as, &uid, &what, &path); err != nil {
		t.Fatal(err)
	}
	if what == "serves" {
		l, err := listenAs(uid, path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		uid++
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		t.Fatal(err)
	}
	r, err := Dial(t.Context(), "unix:"+path, "")
	if err == nil {
		err = r.Close()
	}
	fmt.Println("says:", err)
}

// listenAs listens as a user, and is root again.
func listenAs(uid int, path string) (net.Listener, error) {
	if err := syscall.Setresuid(uid, uid, 0); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o777)
	}
	return l, errors.Join(err, syscall.Setresuid(0, 0, 0))
}
