package queue

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	long, headers := strings.Repeat("x", MaxText), map[string]string{"h": strings.Repeat("x", MaxHeaders-1)}
	for _, test := range []struct {
		name string
		m    Message
		is   error
		says string
	}{
		{"empty", Message{}, nil, ""},
		{"all that goes", Message{ID: long, ContentType: long, ReplyTo: long, CorrelationID: long, Priority: MaxPriority, Headers: headers}, nil, ""},
		{"largest body", Message{Body: make([]byte, MaxBody)}, nil, ""},
		{"body", Message{Body: make([]byte, MaxBody+1)}, ErrTooLarge, "16777217 bytes, where 16777216 are the most"},
		{"priority", Message{Priority: 10}, ErrInvalid, "priority 10, want 0 to 9"},
		{"negative", Message{Priority: -1}, ErrInvalid, "priority -1"},
		{"long", Message{ReplyTo: long + "x"}, ErrInvalid, "the message's ReplyTo has 256 bytes, want at most 255"},
		{"no text", Message{ID: "\xff"}, ErrInvalid, `the message's ID is no UTF-8: "\xff"`},
		{"header", Message{Headers: map[string]string{"X-Death": ""}}, ErrInvalid, `a header named "X-Death"`},
		{"long header", Message{Headers: map[string]string{long + "x": ""}}, ErrInvalid, "the name of a header has 256 bytes"},
		{"headers", Message{Headers: map[string]string{"h": headers["h"], "i": ""}}, ErrInvalid, "headers of 32769 bytes, want at most 32768"},
	} {
		err := test.m.Check()
		if !errors.Is(err, test.is) || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v, want %v that says %q", test.name, err, test.is, test.says)
		}
	}
}

func TestCheckSpec(t *testing.T) {
	for _, test := range []struct {
		spec Spec
		says string // "": it is good
	}{
		{Spec{Name: "job_queue"}, ""},
		{Spec{Name: "größe/7", MaxDeliveries: 3, Dead: "d", Priorities: true, Expires: MinExpires, MaxLength: 1}, ""},
		{Spec{}, `"" as the name`},
		{Spec{Name: "amq.gen"}, `"amq.gen" as the name`},
		{Spec{Name: "q", Dead: "amq.d"}, `"amq.d" as the name`},
		{Spec{Name: "q", MaxDeliveries: -1}, "MaxDeliveries -1"},
		{Spec{Name: "q", Expires: time.Second - 1}, "Expires 999.999999ms, want 0, which is never, or 1s at least"},
	} {
		err := test.spec.Check()
		if (err == nil) != (test.says == "") || err != nil && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%+v: got %v, want %q", test.spec, err, test.says)
		}
	}
	if got := [2]string{Spec{Name: "q"}.DeadQueue(), Spec{Name: "q", Dead: "d"}.DeadQueue()}; got != [2]string{DeadLetters, "d"} {
		t.Errorf("dead letters go to %q", got)
	}
}

func TestClone(t *testing.T) {
	m := Message{ID: "1", Body: []byte("body"), Headers: map[string]string{"h": "v"}}
	c := m.Clone()
	m.Body[0], m.Headers["h"] = 'B', "w"
	if c.ID != "1" || string(c.Body) != "body" || !maps.Equal(c.Headers, map[string]string{"h": "v"}) {
		t.Errorf("the copy has changed: %+v", c)
	}
}
