package kernel

import (
	"regexp"
	"strings"
)

// globPattern turns a glob (* any text, ? any character, [ab] [a-z] [^a] one of a set) into a regular expression for the
// whole text. A set that is none is taken literally.
func globPattern(glob string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for rest := glob; rest != ""; {
		switch set := globSet.FindString(rest); {
		case set != "":
			b.WriteString(strings.ReplaceAll(set, `\`, `\\`))
			rest = rest[len(set):]
			continue
		case rest[0] == '*':
			b.WriteString(`.*`)
		case rest[0] == '?':
			b.WriteString(`.`)
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
		rest = rest[1:]
	}
	b.WriteString(`\z`)
	p, err := regexp.Compile(b.String())
	if err != nil {
		return regexp.MustCompile(`\A` + regexp.QuoteMeta(glob) + `\z`)
	}
	return p
}

var globSet = regexp.MustCompile(`^\[\^?[^\[\]]+\]`)

type historyRequest struct {
	Output  bool   `json:"output"`
	Access  string `json:"hist_access_type"`
	Session int    `json:"session"`
	Start   int    `json:"start"`
	Stop    *int   `json:"stop"`
	N       int    `json:"n"`
	Pattern string `json:"pattern"`
	Unique  bool   `json:"unique"`
}

type historyReply struct {
	Status  string  `json:"status"`
	History [][]any `json:"history"` // session, line, input; or session, line, [input, output]
}

// historyReply answers tail, range and search; an access type that is none of them finds nothing.
func (k *Kernel) historyReply(r *request) any {
	q := historyRequest{Pattern: "*"}
	if err := r.decode(&q); err != nil {
		return failed("bad request", err)
	}
	var found []entry
	switch q.Access {
	case "tail":
		found = k.history.tail(q.N)
	case "range":
		stop := 0
		if q.Stop != nil {
			stop = *q.Stop
		}
		found = k.history.lines(q.Session, q.Start, stop)
	case "search":
		found = k.history.search(q.Pattern, q.N, q.Unique)
	}
	reply := historyReply{"ok", make([][]any, 0, len(found))}
	for _, e := range found {
		if q.Output {
			reply.History = append(reply.History, []any{e.session, e.line, []any{e.input, e.output}})
		} else {
			reply.History = append(reply.History, []any{e.session, e.line, e.input})
		}
	}
	return reply
}
