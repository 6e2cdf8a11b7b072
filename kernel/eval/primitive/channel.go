package primitive

import (
	"reflect"
)

// Recv receives from a channel into what pointer points to (nil: the value is dropped) and returns whether a value was
// received, false for a closed channel. An interrupt of the cell ends the wait.
func (m *Machine) Recv(ch, pointer any) bool {
	c := reflect.ValueOf(ch)
	if v, ok := c.TryRecv(); v.IsValid() {
		store(pointer, v)
		return ok
	}
	_, v, ok := m.choose([]reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: c}})
	store(pointer, v)
	return ok
}

// Send sends what pointer points to. An interrupt of the cell ends the wait.
func (m *Machine) Send(ch, pointer any) {
	c, v := reflect.ValueOf(ch), reflect.ValueOf(pointer).Elem()
	if !c.IsNil() && c.TrySend(v) {
		return
	}
	m.choose([]reflect.SelectCase{{Dir: reflect.SelectSend, Chan: c, Send: v}})
}

func store(pointer any, v reflect.Value) {
	if pointer != nil && v.IsValid() {
		reflect.ValueOf(pointer).Elem().Set(v)
	}
}

// choose waits for one of the cases or an interrupt.
func (m *Machine) choose(cases []reflect.SelectCase) (int, reflect.Value, bool) {
	cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(m.done())})
	i, v, ok := reflect.Select(cases)
	if i == len(cases)-1 {
		if mayTear() {
			panic(interrupted{})
		}
		return reflect.Select(cases[:i])
	}
	return i, v, ok
}

// Case is a communication of a select statement.
type Case struct {
	dir     reflect.SelectDir
	ch      reflect.Value
	pointer any
}

// RecvCase receives into what pointer points to; nil drops the value.
func (m *Machine) RecvCase(ch, pointer any) Case {
	return Case{reflect.SelectRecv, reflect.ValueOf(ch), pointer}
}

// SendCase sends what pointer points to.
func (m *Machine) SendCase(ch, pointer any) Case {
	return Case{reflect.SelectSend, reflect.ValueOf(ch), pointer}
}

// Select is a select statement: it returns the number of the case that was chosen, -1 for default, and whether a receive
// got a value.
func (m *Machine) Select(hasDefault bool, cases ...Case) (chosen int, ok bool) {
	list := make([]reflect.SelectCase, len(cases), len(cases)+1)
	for i, c := range cases {
		list[i] = reflect.SelectCase{Dir: c.dir, Chan: c.ch}
		if c.dir == reflect.SelectSend {
			list[i].Send = reflect.ValueOf(c.pointer).Elem()
		}
	}
	var v reflect.Value
	if hasDefault {
		list = append(list, reflect.SelectCase{Dir: reflect.SelectDefault})
		chosen, v, ok = reflect.Select(list)
		if chosen == len(cases) {
			return -1, false
		}
	} else {
		chosen, v, ok = m.choose(list)
	}
	if list[chosen].Dir == reflect.SelectRecv {
		store(cases[chosen].pointer, v)
	}
	return chosen, ok
}
