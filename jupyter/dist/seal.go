package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	sumsName       = "SHA256SUMS"
	provenanceName = "provenance.json"
)

// statement is an in-toto statement (https://in-toto.io/Statement/v1) of how the files of a release were built, in SLSA's words
// (https://slsa.dev/provenance/v1). It has no time in it: who builds the same commit gets the same bytes.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

// resource is a file, or what one was built from.
type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []resource        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// seal writes what vouches for the files of a release: the provenance, and the sums of all of them, the provenance among them.
func seal(root, out string) error {
	var names []string
	entries, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, sumsName) && name != provenanceName {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return errors.New("there is nothing to seal in " + out)
	}
	s, err := newStatement(root, out, names)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, provenanceName), append(text, '\n'), 0o666); err != nil {
		return err
	}
	return writeSums(out, append(names, provenanceName))
}

// newStatement describes files as built by "make release" from the commit that is checked out.
func newStatement(root, out string, names []string) (*statement, error) {
	commit, err := git(root, "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	modules, err := digest(filepath.Join(root, "go.sum"))
	if err != nil {
		return nil, err
	}
	s := &statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, name := range names {
		sum, err := digest(filepath.Join(out, name))
		if err != nil {
			return nil, err
		}
		s.Subject = append(s.Subject, resource{Name: name, Digest: sum})
	}
	b := &s.Predicate.BuildDefinition
	b.BuildType = "urn:cancha:make-release:1"
	b.ExternalParameters = map[string]string{"command": "make release", "commit": commit}
	b.InternalParameters = map[string]string{"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
	b.ResolvedDependencies = []resource{{URI: "git:" + commit, Digest: map[string]string{"gitCommit": commit}}, {Name: "go.sum", Digest: modules}}
	s.Predicate.RunDetails.Builder.ID = cmp.Or(os.Getenv("RELEASE_BUILDER"), "urn:cancha:by-hand")
	return s, nil
}

func git(root string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// digest is a file's, in in-toto's words.
func digest(name string) (map[string]string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return map[string]string{"sha256": hex.EncodeToString(sum[:])}, nil
}
