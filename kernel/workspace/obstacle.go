package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"syscall"
)

// Obstacle is why there can be no workspace, as a person needs it: one sentence that says what is missing and what to do.
type Obstacle struct {
	Sentence string
	Cause    error // may be nil
}

func (o *Obstacle) Error() string { return o.Sentence }

func (o *Obstacle) Unwrap() error { return o.Cause }

// again is how most sentences end.
const again = `then run "cancha install"`

func obstacle(cause error, format string, args ...any) *Obstacle {
	return &Obstacle{fmt.Sprintf(format, args...), cause}
}

// storage explains an error of our own in reading and writing below a folder.
func storage(dir string, err error) error {
	var known *Obstacle
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return noRoom(dir, err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return obstacle(err, "the engine that compiles cells is kept in %s, which cannot be written: set XDG_CACHE_HOME to a folder of your own, %s", dir, again)
	case errors.Is(err, syscall.ENOTDIR):
		return obstacle(err, "the engine that compiles cells is kept in %s, which is below a file: set XDG_CACHE_HOME to a folder, %s", dir, again)
	}
	return obstacle(err, "the engine that compiles cells could not be kept in %s: %v", dir, err)
}

func noRoom(dir string, cause error) error {
	return obstacle(cause, "the disk that has %s or the caches of Go is full, and the engine that compiles cells takes about 1 GB of it: free some room, %s", dir, again)
}

// complaint is a pattern in what the go command says, and the sentence for it; %[1]s is what the pattern's group holds.
type complaint struct {
	pattern  *regexp.Regexp
	sentence string
}

func complaints() []complaint {
	c := func(pattern, sentence string) complaint { return complaint{regexp.MustCompile(pattern), sentence} }
	return []complaint{
		c(`fatal error: (\S+\.h): No such file`,
			"the C compiler lacks the header %[1]s: install the C library's development files (Debian: build-essential, Fedora: glibc-devel, macOS: xcode-select --install), "+again),
		c(`(?:C compiler|exec:) "([^"]+)"(?: not found|: executable file not found)`,
			"the C compiler %[1]s was not found: install gcc or clang, "+again),
		c(`module lookup disabled by (GOPROXY=off)`,
			"a module that the engine is built from is not in the module cache, and %[1]s forbids to fetch it: allow it once, "+again),
		c(`(no such host|connection refused|network is unreachable|i/o timeout|TLS handshake timeout|proxyconnect tcp[^\n]*|x509: [^\n]*|EOF$|\b(?:403|404|407|410|5\d\d) [A-Z][^\n]*)`,
			"a module that the engine is built from is not in the module cache and could not be fetched (%[1]s): connect to the network once, or set GOPROXY, "+again),
		c(`signal: (killed)`,
			"the system ended the compiler (%[1]s), most likely for want of memory: free some, "+again),
		c(`((?:open|mkdir|create|rename|failed to \w+)[^\n]*(?:read-only file system|permission denied))`,
			"Go's caches cannot be written (%[1]s): set GOCACHE and GOMODCACHE to folders of your own, "+again),
		c(`\bld(?:\.\w+)?: ((?:cannot find|unable to find|library)[^\n]*)`,
			"the C compiler cannot link (%[1]s): install the C library's development files, "+again),
	}
}

// explain turns a go command that failed into a sentence. doing is what it was for; output is what it said, kept is where
// that can be read.
func explain(doing, output, kept, dir string, cause error) error {
	if strings.Contains(output, "no space left on device") || strings.Contains(output, "disk quota exceeded") {
		return noRoom(dir, cause)
	}
	for _, c := range complaints() {
		if m := c.pattern.FindStringSubmatch(output); m != nil {
			return obstacle(cause, c.sentence, m[1])
		}
	}
	return obstacle(cause, "%s failed (%s); all that was said is in %s", doing, telling(output, cause), kept)
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
