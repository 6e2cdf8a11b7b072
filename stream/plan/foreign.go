package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cancha/stream/internal/value"
)

// Kafka is how another engine reads or writes topics by itself.
type Kafka struct {
	Brokers   []string // host:port
	Topics    []string
	Pattern   string // a regular expression (package regexp's) of more topics; empty: none
	Group     string // empty: all partitions are read, and nothing is committed
	Latest    bool   // partitions of which nothing is known are read from their end
	Offsets   map[string]map[int]int64
	Committed bool // records of transactions that were aborted are left out
	TLS       bool
	// Private tells that the TLS is set up by what lies in this process: authorities or a certificate of the client's own.
	Private   bool
	Mechanism string // of SASL; empty: none
	User      string
	Password  Secret
}

// Secret is a text that printing does not show, as JSON neither.
type Secret string

// Format implements fmt.Formatter: every verb writes that there is something, and not what.
func (s Secret) Format(f fmt.State, _ rune) {
	if s != "" {
		fmt.Fprint(f, "(hidden)")
	}
}

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprint(s)) }

// Shape is how the values of records are written, as far as the names of formats do not say it.
type Shape struct {
	Kind        string   // json, csv, text; empty: a format that no other engine knows
	Envelope    string   // of json: the member that holds the record proper; empty: none
	Beside      []string // the members beside it
	Flat        string   // what joins names in flattened records; empty: there are none
	TextNumbers bool     // texts that are numbers count as numbers where numbers are wanted
	Columns     []string // of csv
	Separator   byte     // of csv
}

// Outlet is a sink that another engine can write by itself, or one of Kind "" that it cannot.
type Outlet struct {
	Kind  string // kafka
	Kafka *Kafka // Topics has the one that is written
	Key   string // the column whose text is the key of a row's record; empty: none has one
}

// Table is rows with named columns, each of a kind.
type Table struct {
	Names []string
	Kinds []value.Kind
	Rows  [][]Value
}

// String names what is read or written, without the password.
func (k *Kafka) String() string {
	names := slices.Clone(k.Topics)
	if k.Pattern != "" {
		names = append(names, "topics like "+k.Pattern)
	}
	text := fmt.Sprintf("kafka %s at %s", strings.Join(names, ", "), strings.Join(k.Brokers, ","))
	for _, topic := range slices.Sorted(maps.Keys(k.Offsets)) {
		text += fmt.Sprintf(", %s from %v", topic, k.Offsets[topic])
	}
	return text
}
