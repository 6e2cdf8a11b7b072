package conf

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Setting is one setting of a file; Line counts from 1, and is where the setting begins.
type Setting struct {
	Key, Value string
	Line       int
}

// File is what a file says, in its order. Of two settings with one key the later counts.
type File struct {
	Name     string
	Settings []Setting
}

// maxFile is more than any file of settings has.
const maxFile = 1 << 20

// More than manySettings have at least shortSetting bytes each: one of two bytes would take fifty times as much memory.
const manySettings, shortSetting = 500, 16

// Read reads a file. An error names it and the line.
func Read(name string) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer f.Close()
	return Parse(name, f)
}

// Parse reads settings as Spark does, which takes Java's properties: "key value", "key=value" or "key: value"; "#" or "!" begin a comment
// only at the beginning of a line, a backslash at its end goes on in the next one, and spaces around a value are left out. Name is for
// errors.
func Parse(name string, r io.Reader) (*File, error) {
	lines := bufio.NewScanner(io.LimitReader(r, maxFile+1))
	lines.Buffer(nil, maxFile)
	f, size := &File{Name: name}, 0
	for number := 1; lines.Scan(); number++ {
		begun, text := number, strings.TrimLeft(lines.Text(), blanks)
		if number == 1 {
			text = strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), blanks) // some editors write a byte order mark
		}
		size += len(lines.Bytes()) + 1
		if text == "" || text[0] == '#' || text[0] == '!' {
			continue
		}
		var before []byte // the lines that go on in the next one
		for continues(text) && lines.Scan() {
			number++
			size += len(lines.Bytes()) + 1
			before = append(before, text[:len(text)-1]...)
			text = strings.TrimLeft(lines.Text(), blanks)
		}
		text = string(before) + text
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("%s:%d: not UTF-8", name, begun)
		}
		key, value, err := split(strings.TrimSuffix(text, `\`))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, begun, err)
		}
		if f.Settings = append(f.Settings, Setting{key, value, begun}); len(f.Settings) > manySettings && size < shortSetting*len(f.Settings) {
			return nil, fmt.Errorf("%s: no file of settings: it has %d in its first %d bytes", name, len(f.Settings), size)
		}
	}
	if err := lines.Err(); err != nil || size > maxFile {
		return nil, fmt.Errorf("%s: no file of settings: it is larger than %d bytes", name, maxFile)
	}
	return f, nil
}

const blanks = " \t\f"

// continues tells a line that ends with an odd number of backslashes.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// split takes a line apart where its key ends.
func split(line string) (key, value string, err error) {
	end := 0
	for end < len(line) && !strings.ContainsRune(blanks+"=:", rune(line[end])) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	rest := strings.TrimLeft(line[end:], blanks)
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = rest[1:]
	}
	if key, err = unescape(line[:end]); err != nil {
		return "", "", err
	}
	value, err = unescape(rest)
	return key, strings.TrimSpace(value), err
}

// unescape replaces \t, \n, \r, \f and \uXXXX, and leaves out any other backslash.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't', 'n', 'r', 'f':
			b.WriteString(map[byte]string{'t': "\t", 'n': "\n", 'r': "\r", 'f': "\f"}[s[i]])
		case 'u':
			if i+5 > len(s) {
				return "", fmt.Errorf(`\u wants four hexadecimal digits: %q`, s[i-1:])
			}
			r, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf(`\u wants four hexadecimal digits: %q`, s[i-1:i+5])
			}
			b.WriteRune(rune(r))
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// Get returns the setting of a key that counts.
func (f *File) Get(key string) (s Setting, ok bool) {
	for i := len(f.Settings) - 1; i >= 0; i-- {
		if f.Settings[i].Key == key {
			return f.Settings[i], true
		}
	}
	return Setting{}, false
}
