package jsontext

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Unquote returns the text of a string whose quotes are part of quoted, and whether it shares quoted's bytes; what is no
// UTF-8 becomes U+FFFD, as in encoding/json. The string was scanned before.
func Unquote(quoted []byte) (text []byte, shared bool) {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner, true
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return inner, true // unreachable: the string was scanned
	}
	return []byte(s), false
}

// Problem tells what is wrong with text that is no JSON, in encoding/json's words: slow and exact, for the rare bad record. It is "" for
// text that encoding/json reads.
func Problem(text []byte) string {
	if len(text) == 0 {
		return NotJSON + ": the record has no value"
	}
	var any json.RawMessage
	err := json.Unmarshal(text, &any)
	if err == nil {
		return ""
	}
	reason := NotJSON + ": " + err.Error()
	if at, ok := err.(*json.SyntaxError); ok {
		reason += atByte + strconv.FormatInt(at.Offset, 10)
	}
	return reason
}

// Parts of a Problem.
const (
	NotJSON = "not JSON"
	atByte  = " at byte "
)

// KindOf leaves out of a Problem what is of one text alone: "at byte 17", and the character in "invalid character 'x' after …".
func KindOf(problem string) string {
	if !strings.HasPrefix(problem, NotJSON) {
		return problem
	}
	problem, _, _ = strings.Cut(problem, atByte)
	before, rest, found := strings.Cut(problem, " '")
	if _, after, ends := strings.Cut(rest, "' "); found && ends {
		return before + " " + after
	}
	return problem
}
