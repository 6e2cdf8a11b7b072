package stream

import (
	"fmt"
	"strings"
)

// Explain shows the query as a tree, with what is read of each record, or says why it cannot start.
func (q *Query) Explain() string {
	g, err := q.build()
	if err != nil {
		return q.Plan().String() + "It cannot start: " + err.Error() + "\n"
	}
	var b strings.Builder
	b.WriteString(q.Plan().String())
	for _, in := range g.inputs {
		n, err := in.lane(0, nil)
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "of each record of %s:", in.query.source.Description())
		for _, s := range n.slots {
			fmt.Fprintf(&b, " %s (%s)", s.Path, s.Want)
		}
		for _, m := range n.meta {
			fmt.Fprintf(&b, " @%s", m.Name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
