package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cancha/internal/cellio"
)

// Room returns what a package exports under a name, of those that are compiled when they are wanted (Config.OnImport), for library code that runs in a
// cell: cellio.Room leads here. The first time it is built, as an import in the cell would have it built, with its progress in the cell's error
// output; an interrupt of the cell ends that. Nothing is declared: cells that use the package import it themselves.
func (p *Program) Room(ctx context.Context, path, name string) (any, error) {
	if !slices.Contains(p.onImport, path) {
		return nil, fmt.Errorf("%s is no package that is compiled when it is wanted", path)
	}
	if run := cellio.CurrentRun(); run != nil {
		joined, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(run.Context(), func() { cancel(context.Cause(run.Context())) })()
		ctx = joined
	}
	value, err := p.room(ctx, path, name)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // not what it has cut short
	}
	if err != nil {
		return nil, fmt.Errorf("build %s in: %w", path, err)
	}
	return value, nil
}

// room is Room without what an interrupt does to it.
func (p *Program) room(ctx context.Context, path, name string) (any, error) {
	if err := p.canAdd(); err != nil {
		return nil, err
	}
	if err := p.bring(ctx, path); err != nil {
		return nil, err
	}
	if err := p.building.lock(ctx); err != nil {
		return nil, err
	}
	defer p.building.unlock()
	at := path + "." + name
	if value, known := p.rooms[at]; known {
		return value, nil
	}
	value, err := p.native.Exported(ctx, path, name)
	if err != nil {
		return nil, err
	}
	p.scope.Use(path) // modules that are added later must agree with what is loaded now
	if p.rooms == nil {
		p.rooms = map[string]any{}
	}
	p.rooms[at] = value
	return value, nil
}

// bring makes a package ready for import, unless it is.
func (p *Program) bring(ctx context.Context, path string) error {
	if err := p.adding.lock(ctx); err != nil {
		return err
	}
	defer p.adding.unlock()
	if p.scope.Knows(path) {
		return nil
	}
	err := p.add(ctx, ModuleRequest{Path: path}, p.modules.Add, progress(cellio.Stderr))
	var conflict *Conflict
	if errors.As(err, &conflict) { // the cell runs: it cannot begin anew in another engine
		return fmt.Errorf("%s, so it needs another engine: import _ %q in a cell of its own, which is run before this one", conflict.Reason, path)
	}
	return err
}
