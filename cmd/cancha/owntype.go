//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"path"
	"slices"
	"strings"

	"cancha/jobs"
	"cancha/jobs/folder"
	"cancha/jobs/job"
	"cancha/jobs/worker"
)

// ownType is a job type that is a function of a module in the worker's folder: NAME=shop.Total, or NAME=shop/price.Total of the package price.
type ownType struct {
	name, way string // the way leads through the folder, to the module and on to the package
	function  string
}

// ownTypes are those of a worker's flags.
type ownTypes []ownType

func (all *ownTypes) String() string { return "" }

// Set reads one.
func (all *ownTypes) Set(text string) error {
	name, of, _ := strings.Cut(text, "=")
	dot := strings.LastIndexByte(of, '.')
	if name == "" || dot < 0 {
		return errors.New("want NAME=MODULE.Function, such as price=shop/price.Total")
	}
	o := ownType{name, path.Clean(of[:dot]), of[dot+1:]}
	switch {
	case !token.IsExported(o.function) || !token.IsIdentifier(o.function):
		return fmt.Errorf("%q is no exported function's name", o.function)
	case slices.Contains(append(job.Types(), fileTypes()...), name):
		return fmt.Errorf("%q is a type that workers have anyway; take another name", name)
	case slices.ContainsFunc(*all, func(other ownType) bool { return other.name == name }):
		return fmt.Errorf("the type %q is there twice", name)
	}
	if err := (&job.Spec{Type: name}).Check(); err != nil {
		return err
	}
	*all = append(*all, o)
	return nil
}

// funcs are the functions of jobs of these types. Each is called as a go_function is, in a process of its own.
func (all ownTypes) funcs(dir string) map[string]worker.Func {
	funcs := map[string]worker.Func{}
	for _, o := range all {
		funcs[o.name] = inFolder(dir, func(ctx context.Context, files *folder.Folder, t *jobs.Task) (any, error) {
			j, err := o.job(files)
			if err != nil {
				return nil, worker.Final(err)
			}
			j.Argument = t.Parameters
			return j.call(ctx, files)
		})
	}
	return funcs
}

// job is the function as a go_function's parameters name it. The module is in the last folder on the way that has a go.mod.
func (o ownType) job(files *folder.Folder) (functionJob, error) {
	for module := o.way; ; module = path.Dir(module) {
		names, err := files.Names(module)
		if err != nil {
			return functionJob{}, fmt.Errorf("%s: %s: %w", o.name, module, err)
		}
		if slices.Contains(names, "go.mod") {
			in := "."
			if module != o.way {
				in = strings.TrimPrefix(strings.TrimPrefix(o.way, module), "/")
			}
			return functionJob{Module: module, Package: in, Function: o.function}, nil
		}
		if module == "." {
			return functionJob{}, fmt.Errorf("%s: no folder on the way %s has a go.mod; go mod init makes one", o.name, o.way)
		}
	}
}
