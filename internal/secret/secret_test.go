package secret_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cancha/internal/secret"
)

// TestCheck: characters count, not bytes, and no error shows the text.
func TestCheck(t *testing.T) {
	for _, c := range []struct{ name, token, want string }{
		{"nothing", "", "0 characters"},
		{"short", "hush-hush-15-ch", "15 characters"},
		{"short in characters", strings.Repeat("é", 15), "15 characters"},
		{"long enough", strings.Repeat("é", 16), ""},
		{"two lines", "0123456789\nabcdef", "control characters"},
	} {
		err := secret.Check(c.token)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || c.token != "" && strings.Contains(err.Error(), c.token)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestFile: there is one token, which stays, and nobody else can read it.
func TestFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "jobs")
	tokens := make([]string, 8)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			var err error
			if tokens[i], _, err = secret.File(folder, "token"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, one := range tokens {
		if one != tokens[0] || secret.Check(one) != nil {
			t.Errorf("got %q, want one of them", tokens)
		}
	}
	info, err := os.Lstat(filepath.Join(folder, "token"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", info.Mode(), err)
	}
	if left, err := filepath.Glob(filepath.Join(folder, ".token-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFileRefuses: what somebody else may have put there, or read, is no secret.
func TestFileRefuses(t *testing.T) {
	const good = "0123456789abcdef\n"
	for _, c := range []struct {
		name, want string
		put        func(path string) error
	}{
		{"others can read it", "mode 0644", func(path string) error { return os.WriteFile(path, []byte(good), 0o644) }},
		{"a link", "it is a link", func(path string) error { return os.Symlink("/etc/hostname", path) }},
		{"a pipe", "it is no file", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
		{"a short one", "5 characters", func(path string) error { return os.WriteFile(path, []byte("short\n"), 0o600) }},
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, "token")
		if err := c.put(path); err != nil {
			t.Fatal(err)
		}
		if token, _, err := secret.File(folder, "token"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v, want an error with %q", c.name, token, err, c.want)
		}
	}
	if os.Geteuid() != 0 {
		return // only root makes files of others
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "token")
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 1001, 1001); err != nil {
		t.Skip(err)
	}
	if _, _, err := secret.File(folder, "token"); err == nil || !strings.Contains(err.Error(), "belongs to user 1001") {
		t.Errorf("another user's: got %v", err)
	}
}
