package gpu

import (
	"context"
	"fmt"

	"cancha/runtime/gpu/driver"
)

// VectorAdd sets out[i] = a[i] + b[i]. The three have the same length.
func VectorAdd(ctx context.Context, out, a, b *Buffer[float32]) error {
	if out.Len() != a.Len() || a.Len() != b.Len() {
		return fmt.Errorf("gpu: vector add: lengths %d, %d and %d", out.Len(), a.Len(), b.Len())
	}
	n := a.Len()
	return out.store.session.run(ctx, operation{
		name: "vector add", size: n, work: work{bytes: 12 * int64(n), flops: float64(n), launches: 1},
		reads: []*store{a.store, b.store}, writes: []*store{out.store},
		launches: func(at func(*store) driver.Memory) []driver.Launch {
			return []driver.Launch{{Func: "vector_add", Args: []driver.Arg{
				driver.At(at(out.store), 0), driver.At(at(a.store), 0), driver.At(at(b.store), 0), driver.Int(n),
			}}}
		},
	})
}
