package disk

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
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

// lists reads the two files without which kfake takes a directory for an empty one, and those that it can do without.
func (v *visit) lists(folders []folder) error {
	begun, err := v.topicList(folders)
	if err != nil || !begun {
		return err
	}
	for _, file := range lists {
		if file == topicsFile {
			continue
		}
		raw, err := v.list(file, isObject)
		if err != nil {
			return err
		}
		if raw == nil && file == metaFile {
			v.found(file, "it is gone, and its copy too", "made anew, with a new id of the cluster", func() error { return write(v.dir, file, newMeta()) })
		}
	}
	return nil
}

// topicList reads the list of topics; begun tells whether there is one. A broker has made one by its first start.
func (v *visit) topicList(folders []folder) (begun bool, err error) {
	v.topics = map[string]topic{}
	raw, err := v.list(topicsFile, func(raw []byte) bool { return json.Unmarshal(raw, &topicList{}) == nil })
	switch {
	case err != nil:
		return false, err
	case raw == nil && len(folders) > 0:
		return false, fmt.Errorf("topics.json and its copy are gone, and %s: %w", held(folders), ErrUnknowable)
	case raw == nil:
		return false, nil
	}
	var list topicList
	if err := json.Unmarshal(raw, &list); err != nil {
		return false, err
	}
	for _, t := range list.Topics {
		v.topics[t.Name] = t
	}
	return true, v.unlisted(folders)
}

func isObject(raw []byte) bool { return json.Unmarshal(raw, &struct{}{}) == nil }

func newMeta() []byte {
	return fmt.Appendf(nil, `{"version":1,"cluster_id":%q}`, base64.RawURLEncoding.EncodeToString(newID()))
}

// list is what a list says: the file, or its copy where that is right; nil where neither is there.
//
// An orderly end leaves a checksum of the file. Behind any other end the copy decides: kfake replaces a list before it answers, and no answer
// leaves before the copy is made (see [Copies]). So a file that differs was changed by somebody else, or has what nobody was told of.
func (v *visit) list(file string, sound func(raw []byte) bool) ([]byte, error) {
	raw, err := v.read(file)
	if err != nil {
		return nil, err
	}
	saved, err := v.read(filepath.Join(copiesFolder, file))
	if err != nil {
		return nil, err
	}
	text, sum, whole := unsealed(saved)
	_, ended := v.sums[file]
	good := raw != nil && sound(raw) && !v.changed(file, raw)
	switch {
	case good && (ended || saved == nil || sameList(raw, text) || sumOf(raw) == sum):
		return raw, nil
	case good && !whole:
		return nil, fmt.Errorf("%s is not what its copy has, and the copy is damaged: %w", file, ErrUndecided)
	case raw == nil && !whole:
		return nil, nil
	}
	what := "it is gone"
	if raw != nil {
		what = "it is damaged"
		if sound(raw) {
			what = "it is not what was written"
		}
		v.setAside(file, what, 0, raw)
	}
	if !whole || !sound(text) {
		v.mends = append(v.mends, func() error { return remove(v.dir, file) })
		return nil, nil
	}
	v.found(file, what, "restored from "+copiesFolder, func() error { return write(v.dir, file, text) })
	return text, nil
}

// sameList tells whether two lists say the same: kfake writes topics in any order.
func sameList(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(sorted(x), sorted(y))
}

// sorted puts the topics of a list in the order of their names.
func sorted(list any) any {
	object, _ := list.(map[string]any)
	topics, _ := object["topics"].([]any)
	slices.SortFunc(topics, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return list
}

// unlisted refuses partitions that no topic of the list has: kfake would not serve them, and write over them one day.
func (v *visit) unlisted(folders []folder) error {
	missing := slices.DeleteFunc(slices.Clone(folders), func(f folder) bool { return f.number < v.topics[f.topic].Partitions })
	missing = slices.DeleteFunc(missing, func(f folder) bool { return !v.hasRecords(f) }) // of a topic that was not made, for a full disk say
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("topics.json lacks what the directory holds, for %s: %w", held(missing), ErrUnknowable)
}

// hasRecords tells whether a partition has a segment that is not empty.
func (v *visit) hasRecords(f folder) bool {
	bases, _ := v.bases(f)
	return slices.ContainsFunc(bases, func(base int64) bool {
		info, err := os.Stat(filepath.Join(v.dir, f.path, fmt.Sprintf("%d.dat", base)))
		return err != nil || info.Size() > 0
	})
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
	list, err := v.rest()
	if err != nil {
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
	return errors.Join(remove(dir, sumsFile), write(dir, topicsFile, raw), write(dir, filepath.Join(copiesFolder, topicsFile), sealed(raw)))
}

// rest is what there is of a list of topics. Where a list and its copy contradict each other, and the copy is damaged, it takes the list.
func (v *visit) rest() (list topicList, err error) {
	for _, file := range lists {
		raw, err := v.list(file, isObject)
		if errors.Is(err, ErrUndecided) {
			if err = remove(v.dir, filepath.Join(copiesFolder, file)); err == nil {
				raw, err = v.read(file)
			}
		}
		if err != nil {
			return list, err
		}
		if file == topicsFile && raw != nil {
			_ = json.Unmarshal(raw, &list) // where it is none, the records tell
		}
	}
	return list, nil
}

// newID is random, of 16 bytes as Kafka's are.
func newID() []byte {
	id := make([]byte, 16)
	rand.Read(id)
	return id
}
