package guard

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The kinds of request that are let through: number, name, newest version, first flexible version (-1: none), and the fields as
// Apache Kafka's protocol guide lists them (https://kafka.apache.org/protocol, "The Messages"), in this form:
//
//	1 2 4 8 16   a number or an id of so many bytes
//	s b          a text, bytes
//	[4] [s]      a list of plain values
//	{s 4}        a list of structures, each with tagged fields behind it in flexible versions
//	?(s 4)       a structure that may be null
//	x@7-         x from version 7, x@-6 to version 6, x@3-6 from 3 to 6
//
// The last column is the form of the tagged field 1 of the request itself, where it is a structure; what other tagged fields
// hold is bounded by their size. A test writes each kind in each version by franz-go's own code and reads it by this table.
var table = []struct {
	key              int16
	name             string
	newest, flexible int16
	fields, tagOne   string
}{
	{produce, "Produce", 13, 9, "s@3- 2 4 {s@-12 16@13- {4 b}}", ""},
	{1, "Fetch", 18, 12, "4@-14 4 4 4@3- 1@4- 4@7- 4@7- {s@-12 16@13- {4 4@9- 8 4@12- 8@5- 4}} {s@7-12 16@13- [4]}@7- s@11-", "4 8"},
	{2, "ListOffsets", 10, 6, "4 1@2- {s {4 4@4- 8 4@-0}} 4@10-", ""},
	{3, "Metadata", 13, 9, "{16@10- s} 1@4- 1@8-10 1@8-", ""},
	{8, "OffsetCommit", 10, 8, "s 4@1- s@1- s@7- 8@2-4 {s@-9 16@10- {4 8 8@1-1 4@6- s}}", ""},
	{9, "OffsetFetch", 10, 6, "s@-7 {s [4]}@-7 {s s@9- 4@9- {s@8-9 16@10- [4]}}@8- 1@7-", ""},
	{10, "FindCoordinator", 6, 3, "s@-3 1@1- [s]@4-", ""},
	{11, "JoinGroup", 9, 6, "s 4 4@1- s s@5- s {s b} s@8-", ""},
	{12, "Heartbeat", 4, 4, "s 4 s s@3-", ""},
	{13, "LeaveGroup", 5, 4, "s s@-2 {s s s@5-}@3-", ""},
	{14, "SyncGroup", 5, 4, "s 4 s s@3- s@5- s@5- {s b}", ""},
	{15, "DescribeGroups", 6, 5, "[s] 1@3-", ""},
	{16, "ListGroups", 5, 3, "[s]@4- [s]@5-", ""},
	{17, "SASLHandshake", 1, -1, "s", ""},
	{apiVersions, "ApiVersions", 5, 3, "s@3- s@3- s@5- 4@5-", ""},
	{19, "CreateTopics", 7, 5, "{s 4 2 {4 [4]} {s s}} 4 1@1-", ""},
	{20, "DeleteTopics", 6, 4, "[s]@-5 {s 16}@6- 4", ""},
	{21, "DeleteRecords", 2, 2, "{s {4 8}} 4", ""},
	{22, "InitProducerID", 5, 2, "s 4 8@3- 2@3-", ""},
	{23, "OffsetForLeaderEpoch", 4, 4, "4@3- {s {4 4@2- 4}}", ""},
	{24, "AddPartitionsToTxn", 5, 3, "s@-3 8@-3 2@-3 {s [4]}@-3 {s 8 2 1 {s [4]}}@4-", ""},
	{25, "AddOffsetsToTxn", 4, 3, "s 8 2 s", ""},
	{26, "EndTxn", 5, 3, "s 8 2 1", ""},
	{27, "WriteTxnMarkers", 2, 1, "{8 2 1 {s [4]} 4 1@2-}", ""},
	{28, "TxnOffsetCommit", 6, 3, "s s 8 2 4@3- s@3- s@3- {s@-5 16@6- {4 8 4@2- s}}", ""},
	{29, "DescribeACLs", 3, 2, "1 s 1@1- s s 1 1", ""},
	{30, "CreateACLs", 3, 2, "{1 s 1@1- s s 1 1}", ""},
	{31, "DeleteACLs", 3, 2, "{1 s 1@1- s s 1 1}", ""},
	{32, "DescribeConfigs", 4, 4, "{1 s [s]} 1@1- 1@3-", ""},
	{33, "AlterConfigs", 2, 2, "{1 s {s s}} 1", ""},
	{34, "AlterReplicaLogDirs", 2, 2, "{s {s [4]}}", ""},
	{35, "DescribeLogDirs", 5, 2, "{s [4]}", ""},
	{36, "SASLAuthenticate", 2, 2, "b", ""},
	{37, "CreatePartitions", 3, 2, "{s 4 {[4]}} 4 1", ""},
	{42, "DeleteGroups", 3, 2, "[s]", ""},
	{43, "ElectLeaders", 2, 2, "1@1- {s [4]} 4", ""},
	{44, "IncrementalAlterConfigs", 1, 1, "{1 s {s 1 s}} 1", ""},
	{45, "AlterPartitionAssignments", 1, 0, "4 1@1- {s {4 [4]}}", ""},
	{46, "ListPartitionReassignments", 0, 0, "4 {s [4]}", ""},
	{47, "OffsetDelete", 0, -1, "s {s {4}}", ""},
	{48, "DescribeClientQuotas", 1, 1, "{s 1 s} 1", ""},
	{49, "AlterClientQuotas", 1, 1, "{{s s} {s 8 1}} 1", ""},
	{50, "DescribeUserSCRAMCredentials", 0, 0, "{s}", ""},
	{51, "AlterUserSCRAMCredentials", 0, 0, "{s 1} {s 1 4 b b}", ""},
	{57, "UpdateFeatures", 2, 0, "4 {s 2 1@-0 1@1-} 1@1-", ""},
	{60, "DescribeCluster", 2, 0, "1 1@1- 1@2-", ""},
	{61, "DescribeProducers", 0, 0, "{s [4]}", ""},
	{65, "DescribeTransactions", 0, 0, "[s]", ""},
	{66, "ListTransactions", 2, 0, "[s] [8] 8@1- s@2-", ""},
	{68, "ConsumerGroupHeartbeat", 1, 0, "s s 4 s s 4 [s] s@1- s {16 [4]}", ""},
	{69, "ConsumerGroupDescribe", 1, 0, "[s] 1", ""},
	{71, "GetTelemetrySubscriptions", 0, 0, "16", ""},
	{72, "PushTelemetry", 0, 0, "16 4 1 1 b", ""},
	{74, "ListConfigResources", 1, 0, "[1]@1-", ""},
	{75, "DescribeTopicPartitions", 0, 0, "{s} 4 ?(s 4)", ""},
	{76, "ShareGroupHeartbeat", 1, 0, "s s 4 s [s]", ""},
	{77, "ShareGroupDescribe", 1, 0, "[s] 1", ""},
	{78, "ShareFetch", 2, 0, "s s 4 4 4 4 4@1- 4@1- 1@2- 1@2- {16 {4 4@-0 {8 8 [1]}}} {16 [4]}", ""},
	{79, "ShareAcknowledge", 2, 0, "s s 4 1@2- {16 {4 {8 8 [1]}}}", ""},
	{90, "DescribeShareGroupOffsets", 1, 0, "{s {s [4]}}", ""},
	{91, "AlterShareGroupOffsets", 0, 0, "s {s {4 8}}", ""},
	{92, "DeleteShareGroupOffsets", 0, 0, "s {s}", ""},
}

// Keys with rules of their own.
const (
	produce     int16 = 0
	apiVersions int16 = 18
)

// kind is a row of the table, read.
type kind struct {
	name             string
	newest, flexible int16
	fields, tagOne   []field
}

type form uint8

const (
	fixed    form = iota // size bytes
	text                 // its length in 2 bytes or compact, and as many bytes
	data                 // its length in 4 bytes or compact, and as many bytes
	array                // a count, and as often what is in it
	optional             // a byte that is negative for null, and what is in it
)

// field is one field, in the versions from and to.
type field struct {
	form     form
	size     int     // of a fixed one
	of       []field // in an array or an optional one
	memory   int     // what an element of an array takes in the list that is made of it, bytes
	tagged   bool    // tagged fields are behind each element
	from, to int16
}

// inList is how many bytes a field takes in a list: a number as many as on the wire, a text two words, a list three.
func (f *field) inList() int {
	switch f.form {
	case fixed:
		return f.size
	case text:
		return 16
	case optional:
		return 8
	}
	return 24
}

// forTagged is what a structure keeps beside its fields, bytes: tagged fields that it knows and a map of those that it does not.
const forTagged = 32

// elements is an array of one plain value, or of structures with tagged fields behind each.
func elements(of []field, tagged bool) field {
	f := field{form: array, of: of, tagged: tagged}
	for i := range of {
		f.memory += of[i].inList()
		if tagged {
			f.memory = (f.memory + 7) &^ 7 // as if each were aligned to a word
		}
	}
	if tagged {
		f.memory += forTagged
	}
	return f
}

var kinds = func() map[int16]kind {
	m := make(map[int16]kind, len(table))
	for _, r := range table {
		p := parser{rest: r.fields}
		k := kind{name: r.name, newest: r.newest, flexible: r.flexible, fields: p.fields("")}
		p.rest = r.tagOne
		k.tagOne = p.fields("")
		m[r.key] = k
	}
	return m
}()

// parser reads the table's form. The table is our own, so what it does not understand is a panic when the program starts.
type parser struct{ rest string }

// fields reads up to the closing character.
func (p *parser) fields(closing string) (fields []field) {
	for {
		p.rest = strings.TrimLeft(p.rest, " ")
		if rest, ok := strings.CutPrefix(p.rest, closing); ok && (closing != "" || rest == "") {
			p.rest = rest
			return fields
		}
		f := p.form()
		f.from, f.to = p.versions()
		fields = append(fields, f)
	}
}

func (p *parser) form() field {
	open := p.take(1)
	switch open {
	case "s":
		return field{form: text}
	case "b":
		return field{form: data}
	case "[":
		return elements(p.fields("]"), false)
	case "{":
		return elements(p.fields("}"), true)
	case "?":
		p.take(1)
		return field{form: optional, of: p.fields(")"), tagged: true}
	}
	size, err := strconv.Atoi(open + p.take(len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))))
	if err != nil {
		panic(fmt.Sprintf("guard: table at %q%s: %v", open, p.rest, err))
	}
	return field{form: fixed, size: size}
}

// versions reads what may follow @.
func (p *parser) versions() (from, to int16) {
	if !strings.HasPrefix(p.rest, "@") {
		return 0, math.MaxInt16
	}
	p.take(1)
	from = p.number(0)
	p.take(1) // the dash
	return from, p.number(math.MaxInt16)
}

func (p *parser) number(missing int16) int16 {
	n, err := strconv.ParseInt(p.take(len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))), 10, 16)
	if err != nil {
		return missing
	}
	return int16(n)
}

func (p *parser) take(n int) string {
	t := p.rest[:n]
	p.rest = p.rest[n:]
	return t
}
