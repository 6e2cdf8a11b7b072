package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"cancha/internal/exactjson"
)

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// function is a Go function as a Func calls it.
type function struct {
	f                 reflect.Value
	context, argument bool // what it takes, in this order
	result, mayFail   bool // what it returns, in this order
	argumentType      reflect.Type
}

// Call makes a Func of a Go function, such as one of a module: func([context.Context] [, argument]) ([result] [, error]), each of which may
// be missing. The argument is read from the job's parameters, whose fields must be those of the argument's type where that is a struct; a
// job whose parameters do not fit fails, and is not tried again. A function of another form is an error.
func Call(f any) (Func, error) {
	c, err := formOf(f)
	if err != nil {
		return nil, fmt.Errorf("jobs/worker: call: %w", err)
	}
	return c.run, nil
}

func formOf(f any) (c function, err error) {
	c.f = reflect.ValueOf(f)
	if c.f.Kind() != reflect.Func || c.f.IsNil() {
		return c, fmt.Errorf("%T is no function", f)
	}
	t := c.f.Type()
	in, out := t.NumIn(), t.NumOut()
	c.context = in > 0 && t.In(0) == contextType
	c.mayFail = out > 0 && t.Out(out-1) == errorType
	in, out = in-count(c.context), out-count(c.mayFail)
	if t.IsVariadic() || in > 1 || out > 1 {
		return c, fmt.Errorf("%v takes or returns too much: want func([context.Context] [, argument]) ([result] [, error])", t)
	}
	c.argument, c.result = in == 1, out == 1
	if c.argument {
		c.argumentType = t.In(t.NumIn() - 1)
	}
	return c, nil
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (c function) run(ctx context.Context, t *Task) (result any, err error) {
	var in []reflect.Value
	if c.context {
		in = append(in, reflect.ValueOf(ctx))
	}
	if c.argument {
		value := reflect.New(c.argumentType)
		if err := readStrictly(t.Parameters, value.Interface()); err != nil {
			return nil, Final(fmt.Errorf("the parameters are no %v: %w", c.argumentType, err))
		}
		in = append(in, value.Elem())
	}
	out := c.f.Call(in)
	if c.mayFail {
		err, _ = out[len(out)-1].Interface().(error)
	}
	if c.result && err == nil {
		result = out[0].Interface()
	}
	return result, err
}

// readStrictly reads parameters whose fields are all known, so that a misspelt one is no silent default, and one of two is not dropped.
func readStrictly(text json.RawMessage, to any) error {
	if len(text) == 0 {
		return errors.New("there are none")
	}
	return exactjson.ReadFolded(text, to)
}
