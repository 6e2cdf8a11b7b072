//go:build workspace

package native

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

// A Go program has one descriptor of each type, and an assertion compares addresses. Types without a name, such as []Point, have one in each
// plugin that uses them: of those the dynamic linker takes the first. But package reflect makes descriptors too, for the interpreter and for
// types that are declared again, of types that no plugin has had before. So a plugin that brings one of its own later is made to use the one
// that reflection has.

// replaced are the descriptors of plugins for which others are used, by address: a later plugin, too, would have them.
var replaced sync.Map

// unify has a plugin that has just been loaded use what reflection has made before. Bind is the address of its variable of that name.
func unify(file string, bind unsafe.Pointer) error {
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	p := &loaded{file: f, own: map[uintptr]bool{}, slots: map[uintptr][]uintptr{}, done: map[uintptr]bool{}}
	if err := p.find(uintptr(bind)); err != nil {
		return fmt.Errorf("read the types of %s: %w", file, err)
	}
	return p.unify()
}

// loaded is a plugin in memory.
type loaded struct {
	file  *elf.File
	base  uintptr
	own   map[uintptr]bool      // descriptors of types that it has
	slots map[uintptr][]uintptr // of those: where it refers to them
	done  map[uintptr]bool
}

// find finds the plugin's own descriptors, and what refers to them: the dynamic linker has put addresses there.
func (p *loaded) find(bind uintptr) error {
	symbols, err := p.file.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if strings.HasSuffix(s.Name, "/plugin.Bind") {
			p.base = bind - uintptr(s.Value)
		}
	}
	if p.base == 0 {
		return errors.New("it has no Bind")
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && strings.HasPrefix(s.Name, "type:") && !strings.HasPrefix(s.Name, "type:.") {
			p.own[p.base+uintptr(s.Value)] = true
		}
	}
	for _, s := range p.file.Sections {
		if s.Type != elf.SHT_RELA {
			continue
		}
		relocations, err := s.Data()
		if err != nil {
			return err
		}
		p.refer(relocations)
	}
	return nil
}

// refer notes the places of relocations at which one of the plugin's own descriptors stands.
func (p *loaded) refer(relocations []byte) {
	const size = 24 // Elf64_Rela: offset, info, addend
	for ; len(relocations) >= size; relocations = relocations[size:] {
		at := p.base + uintptr(binary.LittleEndian.Uint64(relocations))
		switch kind := binary.LittleEndian.Uint32(relocations[8:]); p.file.Machine {
		case elf.EM_X86_64:
			if t := elf.R_X86_64(kind); t != elf.R_X86_64_64 && t != elf.R_X86_64_GLOB_DAT && t != elf.R_X86_64_RELATIVE {
				continue
			}
		case elf.EM_AARCH64:
			if t := elf.R_AARCH64(kind); t != elf.R_AARCH64_ABS64 && t != elf.R_AARCH64_GLOB_DAT && t != elf.R_AARCH64_RELATIVE {
				continue
			}
		}
		t := *word(at)
		if _, other := replaced.Load(t); other || p.own[t] {
			p.slots[t] = append(p.slots[t], at)
		}
	}
}

func word(at uintptr) *uintptr { return *(**uintptr)(unsafe.Pointer(&at)) }

// unify takes what reflection has for each of the plugin's descriptors.
func (p *loaded) unify() error {
	protect, err := p.unprotect()
	if err != nil {
		return err
	}
	for at, slots := range p.slots {
		if same, ok := replaced.Load(at); ok {
			p.refers(slots, same.(uintptr))
		}
	}
	for at := range p.slots {
		p.take(at) // of its own ones
	}
	return protect()
}

// unprotect makes writable what the dynamic linker has made read-only, until protect is called.
func (p *loaded) unprotect() (protect func() error, err error) {
	page := uint64(os.Getpagesize())
	var pages []byte
	for _, h := range p.file.Progs {
		if h.Type == elf.PT_GNU_RELRO {
			from, to := h.Vaddr&^(page-1), (h.Vaddr+h.Memsz)&^(page-1) // as the dynamic linker rounds them
			pages = unsafe.Slice((*byte)(unsafe.Pointer(word(p.base+uintptr(from)))), to-from)
		}
	}
	if len(pages) == 0 {
		return func() error { return nil }, nil
	}
	err = syscall.Mprotect(pages, syscall.PROT_READ|syscall.PROT_WRITE)
	return func() error { return syscall.Mprotect(pages, syscall.PROT_READ) }, err
}

// take has the plugin refer to what reflection has for one of its descriptors, after those that the type is made of: by these reflection
// knows the type.
func (p *loaded) take(at uintptr) {
	if p.done[at] || !p.own[at] {
		return
	}
	p.done[at] = true
	t := typeAt(at)
	for _, part := range parts(t) {
		p.take(addressOf(part))
	}
	same := addressOf(known(t))
	if same == at || !alike(headerAt(same), headerAt(at)) {
		return
	}
	replaced.Store(at, same)
	p.refers(p.slots[at], same)
}

// refers has places refer to a type.
func (p *loaded) refers(slots []uintptr, to uintptr) {
	for _, slot := range slots {
		*word(slot) = to
	}
}

// header is the beginning of a type's descriptor (internal/abi.Type).
type header struct {
	size, pointers uintptr
	hash           uint32
	_              [4]uint8
	_, _           uintptr
	text           int32 // its name; negative: package reflect has made the type
}

func headerAt(at uintptr) *header { return (*header)(unsafe.Pointer(word(at))) }

// alike gives a type that reflection has made the hash of the compiler's own, for which a type switch looks first, and reports whether they have the
// same one then. Another compiled one is not written to: it is read-only.
func alike(reflected, compiled *header) bool {
	if reflected.hash != compiled.hash && reflected.text < 0 {
		reflected.hash = compiled.hash
	}
	return reflected.hash == compiled.hash
}

func typeAt(at uintptr) reflect.Type {
	var v any
	*(**uintptr)(unsafe.Pointer(&v)) = word(at)
	return reflect.TypeOf(v)
}

// addressOf is where a type's descriptor is.
func addressOf(t reflect.Type) uintptr { return reflect.ValueOf(t).Pointer() }

// parts are the types that one without a name is made of.
func parts(t reflect.Type) (list []reflect.Type) {
	if t.Name() != "" {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		return []reflect.Type{t.Elem()}
	case reflect.Map:
		return []reflect.Type{t.Key(), t.Elem()}
	case reflect.Func:
		for p := range t.Ins() {
			list = append(list, p)
		}
		for r := range t.Outs() {
			list = append(list, r)
		}
	case reflect.Struct:
		for f := range t.Fields() {
			list = append(list, f.Type)
		}
	}
	return list
}

// known is what reflection has for a type without a name; t itself where there is nothing else, or it could not make one.
func known(t reflect.Type) (same reflect.Type) {
	defer func() {
		if recover() != nil { // of some structs with embedded fields, say
			same = t
		}
	}()
	if t.Name() != "" {
		return t
	}
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.PointerTo(t.Elem())
	case reflect.Slice:
		return reflect.SliceOf(t.Elem())
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), t.Elem())
	case reflect.Chan:
		return reflect.ChanOf(t.ChanDir(), t.Elem())
	case reflect.Map:
		return reflect.MapOf(t.Key(), t.Elem())
	case reflect.Func:
		var in, out []reflect.Type
		for p := range t.Ins() {
			in = append(in, p)
		}
		for r := range t.Outs() {
			out = append(out, r)
		}
		return reflect.FuncOf(in, out, t.IsVariadic())
	case reflect.Struct:
		var fields []reflect.StructField
		for f := range t.Fields() {
			fields = append(fields, f)
		}
		return reflect.StructOf(fields)
	}
	return t
}
