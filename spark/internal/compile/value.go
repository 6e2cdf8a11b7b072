package compile

import (
	"encoding/json"
	"fmt"
	"strconv"

	"cancha/stream"
)

// ValueOf is a value of a column of Compiled.Columns, of which Spark has given x: nil, a bool, an int64, a float64, a string or a time.Time.
// Of a column of any value, or of JSON, the string is the JSON of the value. Anything else is an error.
func ValueOf(kind stream.Kind, x any) (stream.Value, error) {
	s, isText := x.(string)
	switch {
	case x == nil:
		return stream.Value{}, nil
	case isText && (kind == stream.Any || kind == stream.JSON):
		return ofJSON(s)
	}
	v, ok := stream.ValueOf(x)
	if !ok || v.Kind() != kind && !v.IsNull() {
		return v, fmt.Errorf("spark: a column that is %v came as a %T; the rows are not those of the plan that was compiled", kind, x)
	}
	return v, nil
}

// ofJSON is the value that a JSON text is.
func ofJSON(text string) (v stream.Value, err error) {
	if text == "" {
		return v, fmt.Errorf("spark: an empty text came where the JSON of a value was expected")
	}
	switch text[0] {
	case '"':
		var s string
		err = json.Unmarshal([]byte(text), &s)
		v = stream.TextOf(s)
	case '{', '[':
		v = stream.JSONOf(text)
	case 't', 'f':
		v = stream.BoolOf(text == "true")
	case 'n':
	default:
		return ofNumber(text)
	}
	if err != nil {
		err = fmt.Errorf("spark: %.60q came where the JSON of a value was expected: %w", text, err)
	}
	return v, err
}

// ofNumber is a number as an integer if it is written as one and fits, and as a float otherwise.
func ofNumber(text string) (stream.Value, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return stream.IntOf(n), nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return stream.Value{}, fmt.Errorf("spark: %.60q came where the JSON of a value was expected", text)
	}
	return stream.FloatOf(x), nil
}
