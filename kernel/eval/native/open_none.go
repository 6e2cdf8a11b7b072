//go:build !workspace

package native

import (
	"errors"

	"cancha/kernel/eval/native/support"
)

// CanLoad tells whether this engine can load compiled cells.
const CanLoad = false

func open(string) (func(*support.Host), error) {
	return nil, errors.New("this engine was built without plugins")
}
