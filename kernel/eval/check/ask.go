package check

import "cancha/kernel/cell"

func (s *Scope) Complete(code string, cursor int) cell.Completion        { return cell.Completion{} }
func (s *Scope) Inspect(code string, cursor, detail int) cell.Inspection { return cell.Inspection{} }
func IsComplete(code string) cell.Completeness                           { return cell.Completeness{Status: "unknown"} }
