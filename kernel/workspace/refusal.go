package workspace

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
)

// impediment is a pattern in what the go command says of a package or module, and why it cannot be had, where %s is what the pattern's
// group holds.
type impediment struct {
	pattern *regexp.Regexp
	why     string
}

func impediments() []impediment {
	i := func(pattern, why string) impediment { return impediment{regexp.MustCompile(pattern), why} }
	return []impediment{
		i(`(\S+@v\S+): reading https?://\S+: 403 Forbidden`, "the module proxy does not give %s (403 Forbidden): try another version with %get, or another GOPROXY"),
		i(`module (/\S+): reading \S+go\.mod: open`, "the folder %s, which replaces it, holds no Go module: \"go mod init\" makes one"),
		i(`replacement directory (\S+) does not exist`, "the folder %s, which replaces it, does not exist"),
		i(`requires go >= (\S+)`, "it needs Go %s or newer: install that from https://go.dev/dl, and restart the kernel"),
		i(`(build constraints exclude all Go files)`, "%s of it: it is for another system, or behind a build tag"),
		i(`no Go files in (\S+)`, "it has no Go files"),
		i(`(module \S+ found(?: \([^)]*\))?, but does not contain package \S+)`, "%s"),
		i(`(unknown revision \S+|invalid version[^\n]*|no matching versions for query \S+)`, "%s"),
		i(`(404 Not Found|410 Gone|unrecognized import path "[^"]*"|malformed module path[^\n]*|malformed import path[^\n]*|Repository not found|terminal prompts disabled)`, "there is no such module (%s)"),
		i(`(403 Forbidden)`, "the module proxy does not give it (%s): there may be no such module, or GOPROXY has to be another"),
		i(`module lookup disabled by (GOPROXY=off)`, "it is not in the module cache, and %s forbids to fetch it"),
		i(`(no such host|connection refused|network is unreachable|i/o timeout|TLS handshake timeout|proxyconnect tcp[^\n]*|x509: [^\n]*|\b(?:40[0-9]|5\d\d) [A-Z][^\n]*)`,
			"it is not in the module cache and could not be fetched (%s): connect to the network, or set GOPROXY"),
		i(`(checksum mismatch|SECURITY ERROR)`, "its checksum is not what go.sum or the checksum database says (%s)"),
		i(`fatal error: (\S+\.h): No such file`, "the C compiler lacks the header %s"),
		i(`exec: "(git|hg|svn|bzr|fossil|pkg-config)": executable file not found`, "it needs the command %s, which was not found"),
		i(`(?:C compiler|exec:) "([^"]+)"(?: not found|: executable file not found)`, "it needs the C compiler %s, which was not found"),
		i(`Package '?([\w+.-]+)'?,? (?:was not found|not found|required by)`, "it needs the C library %s, which pkg-config does not find"),
		i(`\bld(?:\.\w+)?: ((?:cannot find|unable to find|library)[^\n]*)`, "the C compiler cannot link it (%s)"),
		i(`(import cycle not allowed)`, "%s"),
		i(`cannot find module providing package (\S+)`, "no module has a package %s"),
		i(`signal: (killed)`, "the system ended the compiler (%s), most likely for want of memory"),
	}
}

// refusal is why a package cannot be had, in one line. What the go command said is kept in a file, unless its name is "".
func refusal(want Want, said, kept string, cause error) error {
	name := want.Path
	if want.Version != "" {
		name += "@" + want.Version
	}
	if strings.Contains(said, "no space left on device") || errors.Is(cause, syscall.ENOSPC) {
		return fmt.Errorf("%s: there is no room left in Go's caches", name)
	}
	said = strings.ReplaceAll(said, " imports\n\t", " needs ") // a chain of imports is one line
	for _, i := range impediments() {
		if m := i.pattern.FindStringSubmatch(said); m != nil {
			why := strings.Replace(i.why, "%s", m[1], 1)
			return fmt.Errorf("%s: %s", name, why)
		}
	}
	why := strings.TrimPrefix(telling(said, cause), "go: ")
	if kept == "" {
		return fmt.Errorf("%s: %s", name, why)
	}
	return fmt.Errorf("%s: %s (the full output is in %s)", name, why, kept)
}
