// This file lets the package declare goroutineLabels without a body: it is linked to the runtime's own function.
