package native

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
)

// What the converter does with values of library types, whose fields are not ours to change: it goes into those that only keep what
// a cell gave them, errors that wrap others for one, and notes others that hold a value of a type that has been declared again.

var (
	syncMap      = reflect.TypeFor[sync.Map]()
	atomicValue  = reflect.TypeFor[atomic.Value]()
	wrapsError   = reflect.TypeFor[interface{ Unwrap() error }]()
	wrapsErrors  = reflect.TypeFor[interface{ Unwrap() []error }]()
	contextField = map[string]bool{"Context": true, "c": true, "key": true, "val": true, "cancelCtx": true}
)

// foreign reports whether t is a type of a library other than the plain containers.
func foreign(t reflect.Type) bool {
	path := t.PkgPath()
	return path != "" && path != "main" && path != "container/list" && path != "container/ring" && !strings.HasPrefix(path, "cells/")
}

// holder reports whether t is a struct of a library that may hold a value of a cell's type.
func holder(t reflect.Type) bool {
	if t == syncMap || wraps(t) {
		return true
	}
	for i := range t.NumField() {
		switch f := t.Field(i).Type; {
		case f.Kind() == reflect.Interface, f.Kind() == reflect.Struct && holder(f):
			return true
		}
	}
	return false
}

// wraps reports whether t is an error that holds others.
func wraps(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(wrapsError) || p.Implements(wrapsErrors)
}

// inForeign converts what a library's struct holds, or notes it.
func (c *Converter) inForeign(v reflect.Value) {
	switch t := v.Type(); {
	case wraps(t):
		c.inFields(v)
	case t == syncMap:
		c.inSyncMap(v.Addr().Interface().(*sync.Map))
	case t == atomicValue:
		if at := v.Addr().Interface().(*atomic.Value); c.maps {
			c.inFields(v)
		} else if at.Load() != nil {
			c.left["an atomic.Value, which a goroutine of an earlier cell may be using"] = true
		}
	case t.PkgPath() == "context":
		for i := range v.NumField() {
			if contextField[t.Field(i).Name] {
				c.at(v.Field(i))
			}
		}
	default:
		c.look(v, t)
	}
}

// look notes values of types that have been declared again in the fields of a library's struct.
func (c *Converter) look(v reflect.Value, whole reflect.Type) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			c.look(f, whole)
		case reflect.Interface:
			if f.IsNil() {
				continue
			}
			if t, ok := c.engine.Newest(f.Elem().Type()); !ok || t != f.Elem().Type() {
				c.left[fmt.Sprintf("a value in a %s", whole)] = true
			}
		}
	}
}

// inSyncMap converts keys and elements as those of a map.
func (c *Converter) inSyncMap(m *sync.Map) {
	m.Range(func(key, elem any) bool {
		if !c.maps {
			c.left["a sync.Map, which a goroutine of an earlier cell may be using"] = true
			return false
		}
		pair := [2]any{key, elem}
		at := reflect.ValueOf(&pair).Elem()
		c.at(at.Index(0))
		c.at(at.Index(1))
		if pair[0] != key { // which a type makes another one
			m.Delete(key)
		}
		m.Store(pair[0], pair[1])
		return true
	})
}
