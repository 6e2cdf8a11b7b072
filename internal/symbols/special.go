package symbols

import (
	"bufio"
	"encoding"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"reflect"
	"slices"

	"github.com/traefik/yaegi/stdlib/unsafe"
)

// addSpecial adds what the interpreter wants to know beside the names of packages:
//
//   - under ".", which functions look for more interfaces than their parameters say (fmt.Println for fmt.Stringer), and
//     which wrapper to take when a value has more methods than the interface asks for (io.Copy uses a Reader's WriteTo);
//   - package unsafe, whose functions have no values in Go.
//
// The first is written here, for yaegi keeps it in a package that lists the whole standard library a second time, which
// took each process 3 ms at its start.
func addSpecial(table map[string]map[string]reflect.Value) {
	table["."] = map[string]reflect.Value{"MapTypes": reflect.ValueOf(specialTypes(table))}
	for _, key := range []string{"unsafe/unsafe", "github.com/traefik/yaegi/yaegi"} {
		table[key] = unsafe.Symbols[key]
	}
}

// specialTypes has, for a function, the interfaces that it looks for, and for the wrapper of an interface, the wrappers
// with more methods that are taken in its place.
func specialTypes(table map[string]map[string]reflect.Value) map[reflect.Value][]reflect.Type {
	types := map[reflect.Value][]reflect.Type{}
	for _, s := range special() {
		for _, function := range s.functions {
			types[reflect.ValueOf(function)] = s.interfaces
		}
	}
	for _, w := range []struct {
		key, name string
		wrapper   reflect.Type
	}{
		{"net/http/http", "_ResponseWriter", reflect.TypeFor[responseWriterHijacker]()},
		{"io/io", "_Reader", reflect.TypeFor[readerWriterTo]()},
		{"io/io", "_Writer", reflect.TypeFor[writerReaderFrom]()},
	} {
		types[table[w.key][w.name]] = []reflect.Type{w.wrapper}
	}
	return types
}

type specials struct {
	interfaces []reflect.Type
	functions  []any
}

func special() []specials {
	text := []reflect.Type{reflect.TypeFor[encoding.TextMarshaler]()}
	fromText := []reflect.Type{reflect.TypeFor[encoding.TextUnmarshaler]()}
	return []specials{
		{[]reflect.Type{reflect.TypeFor[fmt.Formatter](), reflect.TypeFor[fmt.Stringer]()}, []any{
			fmt.Errorf, fmt.Fprint, fmt.Fprintf, fmt.Fprintln, fmt.Print, fmt.Printf, fmt.Println,
			fmt.Sprint, fmt.Sprintf, fmt.Sprintln,
			log.Fatal, log.Fatalf, log.Fatalln, log.Panic, log.Panicf, log.Panicln,
		}},
		{[]reflect.Type{reflect.TypeFor[fmt.Scanner]()}, []any{fmt.Scan, fmt.Scanf, fmt.Scanln}},
		{slices.Concat([]reflect.Type{reflect.TypeFor[json.Marshaler]()}, text), []any{json.Marshal}},
		{slices.Concat([]reflect.Type{reflect.TypeFor[json.Unmarshaler]()}, fromText), []any{json.Unmarshal}},
		{slices.Concat([]reflect.Type{reflect.TypeFor[xml.Marshaler]()}, text), []any{xml.Marshal}},
		{slices.Concat([]reflect.Type{reflect.TypeFor[xml.Unmarshaler]()}, fromText), []any{xml.Unmarshal}},
	}
}

// The wrappers that follow have the form that the interpreter fills: the value itself, then a function for each method.

// responseWriterHijacker: net/http asks a ResponseWriter whether its connection can be taken over.
type responseWriterHijacker struct {
	IValue       any
	WHeader      func() http.Header
	WWrite       func([]byte) (int, error)
	WWriteHeader func(int)
	WHijack      func() (net.Conn, *bufio.ReadWriter, error)
}

func (w responseWriterHijacker) Header() http.Header            { return w.WHeader() }
func (w responseWriterHijacker) Write(data []byte) (int, error) { return w.WWrite(data) }
func (w responseWriterHijacker) WriteHeader(status int)         { w.WWriteHeader(status) }
func (w responseWriterHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.WHijack()
}

// readerWriterTo: io.Copy asks a Reader whether it writes itself.
type readerWriterTo struct {
	IValue   any
	WRead    func([]byte) (int, error)
	WWriteTo func(io.Writer) (int64, error)
}

func (r readerWriterTo) Read(data []byte) (int, error)       { return r.WRead(data) }
func (r readerWriterTo) WriteTo(to io.Writer) (int64, error) { return r.WWriteTo(to) }

// writerReaderFrom: io.Copy asks a Writer whether it reads itself.
type writerReaderFrom struct {
	IValue    any
	WWrite    func([]byte) (int, error)
	WReadFrom func(io.Reader) (int64, error)
}

func (w writerReaderFrom) Write(data []byte) (int, error)         { return w.WWrite(data) }
func (w writerReaderFrom) ReadFrom(from io.Reader) (int64, error) { return w.WReadFrom(from) }
