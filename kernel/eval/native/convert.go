package native

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// Converter gives values in interfaces their new types, after types have been declared again with more methods; in a program the methods
// would have been there from the start. It goes through what can be reached from the variables of the session, and notes what it has to
// leave as it is.
type Converter struct {
	engine *Engine
	maps   bool // may be read and written
	seen   map[place]bool
	holds  map[reflect.Type]bool // may hold an interface, or what has to be noted
	left   map[string]bool
}

type place struct {
	at  uintptr
	n   int
	typ reflect.Type
}

// NewConverter returns a converter. Busy tells that goroutines of cells are running: maps, which they may be using, are then left
// as they are.
func (e *Engine) NewConverter(busy bool) *Converter {
	return &Converter{engine: e, maps: !busy, seen: map[place]bool{}, holds: map[reflect.Type]bool{}, left: map[string]bool{}}
}

// Left are the kinds of values that the converter could not look into, although they may hold values of types that have been declared
// again.
func (c *Converter) Left() []string { return sortedKeys(c.left) }

// Convert goes through a variable.
func (c *Converter) Convert(v reflect.Value) {
	if v.CanAddr() {
		c.at(v)
	}
}

// at goes through a value that can be set, fields that are not exported included.
func (c *Converter) at(v reflect.Value) {
	t := v.Type()
	if !c.mayHold(t) {
		return
	}
	v = reflect.NewAt(t, v.Addr().UnsafePointer()).Elem()
	switch t.Kind() {
	case reflect.Interface:
		c.inInterface(v)
	case reflect.Pointer:
		if !v.IsNil() && c.first(v.Pointer(), 1, t) {
			c.at(v.Elem())
		}
	case reflect.Struct:
		if foreign(t) {
			c.inForeign(v)
			return
		}
		c.inFields(v)
	case reflect.Array:
		for i := range v.Len() {
			c.at(v.Index(i))
		}
	case reflect.Slice:
		if v.Cap() > 0 && c.first(v.Pointer(), v.Cap(), t) {
			v = v.Slice(0, v.Cap()) // what lies behind its end may be brought back
			for i := range v.Len() {
				c.at(v.Index(i))
			}
		}
	case reflect.Map:
		c.inMap(v)
	case reflect.Chan:
		if v.Len() > 0 {
			c.left["a channel's buffer"] = true
		}
	case reflect.Func:
		if !v.IsNil() && inFunction(runtime.FuncForPC(v.Pointer()).Name()) {
			c.left["a closure"] = true
		}
	}
}

func (c *Converter) inFields(v reflect.Value) {
	for i := range v.NumField() {
		c.at(v.Field(i))
	}
}

func (c *Converter) first(at uintptr, n int, t reflect.Type) bool {
	p := place{at, n, t}
	if c.seen[p] {
		return false
	}
	c.seen[p] = true
	return true
}

// inInterface converts what an interface holds. A value that is no pointer is copied: nobody else can have it.
func (c *Converter) inInterface(v reflect.Value) {
	if v.IsNil() {
		return
	}
	held := v.Elem()
	t := held.Type()
	if t == described {
		c.inType(v, held.Interface().(reflect.Type))
		return
	}
	newest, ok := c.engine.Newest(t)
	if !ok || c.engine.stale(newest) {
		c.left[fmt.Sprintf("a %s", t)] = true
		return
	}
	if held.Kind() == reflect.Pointer {
		if !held.IsNil() && c.first(held.Pointer(), 1, t) {
			c.at(held.Elem())
		}
		if newest != t {
			c.put(v, reflect.NewAt(newest.Elem(), held.UnsafePointer()))
		}
		return
	}
	if newest == t && !c.mayHold(t) {
		return
	}
	fresh := reflect.New(t)
	fresh.Elem().Set(held)
	c.at(fresh.Elem())
	c.put(v, reflect.NewAt(newest, fresh.UnsafePointer()).Elem())
}

// described is what a reflect.Type holds.
var described = reflect.TypeOf(reflect.TypeFor[int]())

// inType converts a reflect.Type itself, by which a registry of types may find things.
func (c *Converter) inType(v reflect.Value, t reflect.Type) {
	newest, ok := c.engine.Newest(t)
	switch {
	case !ok || c.engine.stale(newest):
		c.left[fmt.Sprintf("the reflect.Type of %s", t)] = true
	case newest != t:
		v.Set(reflect.ValueOf(newest))
	}
}

// put sets an interface, whose own type may have been declared again too.
func (c *Converter) put(v, value reflect.Value) {
	if t, ok := c.engine.Newest(v.Type()); ok && t != v.Type() {
		v = reflect.NewAt(t, v.Addr().UnsafePointer()).Elem()
	}
	switch {
	case value.Type().AssignableTo(v.Type()):
		if !comparableEqual(v, value) {
			v.Set(value)
		}
	default:
		c.left[fmt.Sprintf("a %s in a %s", value.Type(), v.Type())] = true
	}
}

// comparableEqual tells that an interface need not be written, so that it is not where nothing changes.
func comparableEqual(v, value reflect.Value) bool {
	return v.Elem().Type() == value.Type() && v.Elem().Comparable() && v.Elem().Equal(value)
}

// inMap converts a map's keys and elements, which cannot be changed in place.
func (c *Converter) inMap(v reflect.Value) {
	if v.Len() == 0 || !c.first(v.Pointer(), 1, v.Type()) {
		return
	}
	if !c.maps {
		c.left["a map, which a goroutine of an earlier cell may be using"] = true
		return
	}
	for _, key := range v.MapKeys() {
		elem := v.MapIndex(key)
		if !elem.IsValid() { // NaN
			c.left["a map's element under NaN"] = true
			continue
		}
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		k.Set(key)
		e.Set(elem)
		c.at(k)
		c.at(e)
		if key.Kind() == reflect.Interface || c.mayHold(key.Type()) {
			v.SetMapIndex(key, reflect.Value{})
		}
		v.SetMapIndex(k, e)
	}
}

// mayHold tells whether values of a type may hold interfaces, or what has to be noted.
func (c *Converter) mayHold(t reflect.Type) bool {
	if holds, ok := c.holds[t]; ok {
		return holds
	}
	holds := reaches(t, map[reflect.Type]bool{})
	c.holds[t] = holds
	return holds
}

// reaches tells whether a type is made of interfaces or functions; seen are those that the question is about already.
func reaches(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface, reflect.Func:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		return reaches(t.Elem(), seen)
	case reflect.Map:
		return reaches(t.Key(), seen) || reaches(t.Elem(), seen)
	case reflect.Struct:
		if foreign(t) {
			return holder(t)
		}
		for i := range t.NumField() {
			if reaches(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// inFunction reports whether name, as the binary has it, is that of a closure made in a declared function, whose variables it may hold. A
// closure of a cell's statements holds variables of the session.
func inFunction(name string) bool {
	rest, ok := strings.CutPrefix(name, "cells/")
	return ok && strings.Contains(rest, ".func") && !strings.Contains(rest, "."+runName+".")
}
