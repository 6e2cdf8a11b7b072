package native

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"cancha/kernel/eval/native/support"
)

type before struct{ n int }

func (b before) Error() string            { return "before" }
func (b before) Read([]byte) (int, error) { return 0, io.EOF }

type after struct{ n int }

func (a after) Error() string            { return "after" }
func (a after) Read([]byte) (int, error) { return 0, io.EOF }

// TestConvertInLibraries converts what library types hold, or says where it does not.
func TestConvertInLibraries(t *testing.T) {
	e := New(Toolchain{}, support.Machine(nil))
	e.newer[reflect.TypeFor[before]()] = reflect.TypeFor[after]()
	var vars struct {
		err   error
		known sync.Map
		read  *bufio.Reader
		other *bufio.Reader
	}
	fill := func() {
		vars.err = fmt.Errorf("a: %w", errors.Join(io.EOF, fmt.Errorf("b: %w", before{1})))
		vars.known.Store(before{2}, before{3})
		vars.read, vars.other = bufio.NewReader(before{4}), bufio.NewReader(strings.NewReader(""))
	}
	convert := func(busy bool) []string {
		fill()
		c := e.NewConverter(busy)
		for f := range reflect.ValueOf(&vars).Elem().NumField() {
			c.Convert(reflect.ValueOf(&vars).Elem().Field(f))
		}
		return c.Left()
	}
	if got, want := convert(true), []string{"a sync.Map, which a goroutine of an earlier cell may be using", "a value in a bufio.Reader"}; !slices.Equal(got, want) {
		t.Errorf("left while goroutines run: %q, want %q", got, want)
	}
	if got, want := convert(false), []string{"a value in a bufio.Reader"}; !slices.Equal(got, want) {
		t.Errorf("left: %q, want %q", got, want)
	}
	if a := (after{}); !errors.As(vars.err, &a) || a.n != 1 {
		t.Errorf("the wrapped error is %#v", vars.err)
	}
	if v, ok := vars.known.Load(after{2}); !ok || v != (after{3}) {
		t.Errorf("the map holds %v, %v", v, ok)
	}
	if _, ok := vars.known.Load(before{2}); ok {
		t.Error("the old key is still there")
	}
}
