package disk

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// topic is one of the list in topics.json.
type topic struct {
	Name       string            `json:"name"`
	ID         []byte            `json:"id"`
	Partitions int               `json:"partitions"`
	Replicas   int               `json:"replicas"`
	Configs    map[string]string `json:"configs,omitempty"`
}

func (t topic) compacted() bool { return strings.Contains(t.Configs["cleanup.policy"], "compact") }

type topicList struct {
	Version int     `json:"version"`
	Topics  []topic `json:"topics"`
}

// lists reads the two files without which kfake takes a directory for an empty one, or from their copies.
func (v *visit) lists(folders []folder) error {
	v.topics = map[string]topic{}
	begun := len(folders) > 0
	var list topicList
	switch state, err := v.list("topics.json", &list); {
	case err != nil:
		return err
	case state == gone && begun:
		return fmt.Errorf("topics.json and its copy are gone, and %s: %w", held(folders), ErrUnknowable)
	case state == gone:
		return nil
	}
	for _, t := range list.Topics {
		v.topics[t.Name] = t
	}
	if err := v.unlisted(folders); err != nil {
		return err
	}
	var meta struct {
		Version int `json:"version"`
	}
	state, err := v.list("meta.json", &meta)
	if err == nil && state == gone {
		v.found("meta.json", "it is gone, and its copy too", "made anew, with a new id of the cluster", func() error { return write(v.dir, "meta.json", newMeta()) })
	}
	return err
}

func newMeta() []byte {
	return fmt.Appendf(nil, `{"version":1,"cluster_id":%q}`, base64.RawURLEncoding.EncodeToString(newID()))
}

// state is what has become of a file.
type state int

const (
	there state = iota
	gone        // and its copy
)

// list reads a file of JSON, or its copy where it is gone or damaged.
func (v *visit) list(file string, into any) (state, error) {
	raw, err := v.read(file)
	if err != nil {
		return there, err
	}
	good := raw != nil && json.Unmarshal(raw, into) == nil && !v.changed(file, raw)
	if good {
		return there, nil
	}
	if raw != nil {
		v.setAside(file, "it is damaged", 0, raw)
	}
	saved, err := v.copyOf(file)
	if err != nil || saved == nil || json.Unmarshal(saved, into) != nil {
		return gone, err
	}
	v.found(file, "it is gone or damaged", "restored from "+copiesFolder, func() error { return write(v.dir, file, saved) })
	return there, nil
}

// unlisted refuses partitions that no topic of the list has: kfake would not serve them, and write over them one day.
func (v *visit) unlisted(folders []folder) error {
	missing := slices.DeleteFunc(slices.Clone(folders), func(f folder) bool { return f.number < v.topics[f.topic].Partitions })
	missing = slices.DeleteFunc(missing, func(f folder) bool { bases, _ := v.bases(f); return len(bases) == 0 })
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("topics.json lacks what the directory holds, for %s: %w", held(missing), ErrUnknowable)
}

// held names topics and their highest partitions.
func held(folders []folder) string {
	most := highest(folders)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(most)) {
		names = append(names, fmt.Sprintf("%s (partitions up to %d)", name, most[name]))
	}
	return "there are records of " + strings.Join(names, ", ")
}

func highest(folders []folder) map[string]int {
	most := map[string]int{}
	for _, f := range folders {
		most[f.topic] = max(most[f.topic], f.number)
	}
	return most
}

// Rebuild writes a list of the topics that have records, each with as many partitions as its highest number says, beside those
// that topics.json has. A topic whose last partitions never had a record gets too few: keyed records that are written then go
// to other partitions than before.
func Rebuild(dir string) error {
	v := &visit{dir: dir}
	folders, err := v.folders()
	if err != nil {
		return err
	}
	var list topicList
	if _, err := v.list("topics.json", &list); err != nil {
		return err
	}
	list.Version = 1
	most := highest(folders)
	for i, t := range list.Topics {
		list.Topics[i].Partitions = max(t.Partitions, most[t.Name]+1)
		delete(most, t.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(most)) {
		list.Topics = append(list.Topics, topic{Name: name, ID: newID(), Partitions: most[name] + 1, Replicas: 1})
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return errors.Join(Unseal(dir), write(dir, "topics.json", raw))
}

// newID is random, of 16 bytes as Kafka's are.
func newID() []byte {
	id := make([]byte, 16)
	rand.Read(id)
	return id
}

// Keep copies the two lists where they have changed since the last copy. A broker calls it from time to time.
func Keep(dir string) error {
	for _, file := range []string{"meta.json", "topics.json"} {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			continue // not yet
		}
		v := visit{dir: dir}
		if saved, err := v.copyOf(file); err == nil && string(saved) == string(raw) {
			continue
		}
		if err := write(dir, filepath.Join(copiesFolder, file), sealed(raw)); err != nil {
			return fmt.Errorf("copy %s: %w", file, err)
		}
	}
	return nil
}
