package kafka

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// TestLagWaitsForTheCoordinator: a group that has just been made has none yet, which is no error; one that a broker does not mend is told, and at once.
func TestLagWaitsForTheCoordinator(t *testing.T) {
	var answers []error
	ask := func() error {
		err := answers[0]
		answers = answers[1:]
		return err
	}
	answers = []error{kafka.NotCoordinatorForGroup, kafka.GroupLoadInProgress, nil}
	if err := coordinated(t.Context(), ask); err != nil || len(answers) > 0 {
		t.Errorf("got %v with %d answers left", err, len(answers))
	}
	answers = []error{kafka.GroupAuthorizationFailed, nil}
	if err := coordinated(t.Context(), ask); !errors.Is(err, kafka.GroupAuthorizationFailed) || len(answers) != 1 {
		t.Errorf("got %v with %d answers left, want the refusal at once", err, len(answers))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	if err := coordinated(ctx, func() error { return kafka.GroupCoordinatorNotAvailable }); !errors.Is(err, kafka.GroupCoordinatorNotAvailable) {
		t.Errorf("got %v, want what the broker said last", err)
	}
}
