package stream_test

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cancha/stream"
)

type single struct{}

func (single) Name() string { return "one number" }

func (single) Decoder(slots []stream.Slot) (stream.Decoder, error) {
	for _, s := range slots {
		if s.Path != "n" {
			return nil, fmt.Errorf("there is no %q, only n", s.Path)
		}
	}
	return &singleDecoder{slots: slots}, nil
}

type singleDecoder struct {
	slots []stream.Slot
	seen  bool
}

func (d *singleDecoder) Decode(record []byte, row []stream.Value) (reason string) {
	x, err := strconv.ParseFloat(string(record), 64)
	if err != nil {
		return "not a number"
	}
	d.seen = true
	for _, s := range d.slots {
		if row[s.At], reason = s.Fit(stream.FloatOf(x)); reason != "" {
			return reason // n: want a text, got another number
		}
	}
	return ""
}

func (d *singleDecoder) Seen(int) bool { return d.seen }

// TestFormatOfTheComment: the format in the comment of Format is the one above, and reads what it says.
func TestFormatOfTheComment(t *testing.T) {
	source, err := os.ReadFile("own_format_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code []string
	for _, block := range new(comment.Parser).Parse(comments(t, "format.go")["Format"]).Content {
		if c, ok := block.(*comment.Code); ok {
			code = append(code, c.Text)
		}
	}
	if all := strings.Join(code, ""); all == "" || !strings.Contains(string(source), all) {
		t.Errorf("the comment has another format than this file:\n%s", all)
	}
	records := [][]stream.Record{{{Value: []byte("1.5")}, {Value: []byte("x")}, {Value: []byte("2")}}}
	running := finish(t, stream.From(stream.Memory("numbers", records)).Format(single{}).With("twice", stream.Field("n").Mul(2)).Select("twice"))
	if got, want := csvOf(t, running), "twice\n3\n4\n"; got != want || running.Totals().Bad != 1 {
		t.Errorf("got %q and %d bad, want %q and 1", got, running.Totals().Bad, want)
	}
	texts := finish(t, stream.From(stream.Memory("numbers", records)).Format(single{}).With("low", stream.Field("n").Lower()).Select("low"))
	if got, want := texts.BadRecords().Newest[0].Reason, "n: want a text, got another number"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWhatGoDocShows: fields and methods that a Format needs are of types of this package, whose go doc shows them, or stand in the comment.
func TestWhatGoDocShows(t *testing.T) {
	for _, is := range []reflect.Type{reflect.TypeFor[stream.Slot](), reflect.TypeFor[stream.Want](), reflect.TypeFor[stream.Decoder]()} {
		if is.PkgPath() != "cancha/stream" {
			t.Errorf("%v is of package %s, whose fields and methods go doc cancha/stream does not show", is, is.PkgPath())
		}
	}
	text := comments(t, "value.go")["Value"]
	for m := range reflect.TypeFor[stream.Value]().Methods() {
		if !regexp.MustCompile(`\b` + m.Name + `\b`).MatchString(text) {
			t.Errorf("the comment of Value does not name its method %s", m.Name)
		}
	}
	text = comments(t, "format.go")["Part"]
	for f := range reflect.TypeFor[stream.Part]().Fields() {
		if !regexp.MustCompile(`\b` + f.Name + `\b`).MatchString(text) {
			t.Errorf("the comment of Part does not name its field %s", f.Name)
		}
	}
}

// comments are those of the types of a file, by their names.
func comments(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, d := range parsed.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.TYPE {
			all[d.Specs[0].(*ast.TypeSpec).Name.Name] = d.Doc.Text()
		}
	}
	return all
}
