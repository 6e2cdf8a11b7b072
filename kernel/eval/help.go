package eval

import (
	"strings"

	"cancha/kernel/cell"
	"cancha/kernel/eval/magic"
)

// page is what the pager shows for a name that help was asked about.
func (p *Program) page(c *magic.Command) map[string]any {
	if name := strings.TrimLeft(c.Name, "%"); name != c.Name {
		return magicHelp(name)
	}
	in := p.scope.Inspect(c.Name, len([]rune(c.Name)), c.Detail)
	if !in.Found {
		return map[string]any{"text/plain": c.Name + ": nothing is known by that name"}
	}
	return in.Data
}

// magicHelp explains a magic.
func magicHelp(name string) map[string]any {
	spec, ok := magic.Lookup(name)
	if !ok {
		return map[string]any{"text/plain": form(&magic.Command{Name: name}).Error()}
	}
	return map[string]any{"text/plain": spec.Text()}
}

// inspectMagic is magicHelp for a cursor.
func inspectMagic(name string) cell.Inspection {
	if _, ok := magic.Lookup(name); !ok {
		return cell.Inspection{}
	}
	return cell.Inspection{Found: true, Data: magicHelp(name)}
}
