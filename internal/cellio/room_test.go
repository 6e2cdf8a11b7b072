package cellio

import (
	"context"
	"errors"
	"testing"
)

// TestRoom: an ordinary program builds nothing in; an engine's function is asked.
func TestRoom(t *testing.T) {
	if v, err := Room(t.Context(), "cancha/spark", "Engine"); !errors.Is(err, ErrNoRooms) {
		t.Errorf("got %v, %v, want %v", v, err, ErrNoRooms)
	}
	OnRoom(func(_ context.Context, path, name string) (any, error) { return path + "." + name, nil })
	defer OnRoom(nil)
	if v, err := Room(t.Context(), "cancha/spark", "Engine"); v != "cancha/spark.Engine" || err != nil {
		t.Errorf("got %v, %v", v, err)
	}
}
