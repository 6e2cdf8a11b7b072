package stream

import (
	"math"
	"strconv"
	"sync"
)

// maxCodes bounds a decoder's own copy of the dictionary; the copy starts again when it is full.
const maxCodes = 1 << 16

// textCode is the code of the first text in a dictionary. Ids of StatsBomb are small positive numbers, so that codes and
// ids share an int64 without meeting.
const textCode = math.MinInt64

// dictionary gives texts that serve as keys a number, the same in all partitions of a query. It lives as long as its query.
type dictionary struct {
	mu    sync.RWMutex
	codes map[string]int64
	texts []string
}

func newDictionary() *dictionary { return &dictionary{codes: map[string]int64{}} }

func (d *dictionary) code(text string) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c, ok := d.codes[text]; ok {
		return c
	}
	c := textCode + int64(len(d.texts))
	d.texts = append(d.texts, text)
	d.codes[text] = c
	return c
}

// key returns what a key of a row stands for: the text of a code, or the integer itself.
func (d *dictionary) key(key int64) Key {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if i := uint64(key - textCode); i < uint64(len(d.texts)) {
		return Key{Text: d.texts[i], IsText: true}
	}
	return Key{ID: key, Text: strconv.FormatInt(key, 10)}
}
