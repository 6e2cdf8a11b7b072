package kerneltest

import (
	"context"
	"os"
	"testing"
	"time"

	"cancha/kernel/client"
)

// BenchmarkEncryption measures what CURVE costs: a trivial cell, and one that displays 20 MB, in turns on a kernel whose channels are
// encrypted and on one whose channels are not. "ratio" is the median of the first to that of the second. The kernels are those of
// CANCHA_PROGRAM, or have an engine that does nothing, so that the channels are all that is measured.
func BenchmarkEncryption(b *testing.B) {
	target := fakeTarget()
	if program := os.Getenv(programVariable); program != "" {
		target = Target{Config: client.Config{Argv: []string{program, "kernel", "{connection_file}"}}, Samples: goSamples()}
	}
	for _, transport := range []string{"tcp", "ipc"} {
		for _, cell := range []struct{ name, code string }{{"trivial", target.Samples.Value}, {"20MB", target.Samples.Large}} {
			b.Run(transport+"/"+cell.name, func(b *testing.B) {
				target.Config.Transport = transport
				compareEncryption(b, target.Config, cell.code)
			})
		}
	}
}

// measured is one of the two kernels.
type measured struct {
	client *client.Client
	took   []time.Duration
}

func compareEncryption(b *testing.B, c client.Config, code string) {
	sides := make([]measured, 2)
	for i := range sides {
		c.Encrypted = i == 1
		k, err := client.Start(c)
		if err != nil {
			b.Fatal(err)
		}
		defer k.Kill()
		ctx, cancel := context.WithTimeout(b.Context(), 6*patience)
		sides[i].client, err = k.Connect(ctx, client.Options{})
		cancel()
		if err != nil {
			b.Fatal(err)
		}
		defer sides[i].client.Close()
		sides[i].run(b, code) // its first cell may be compiled
	}
	for b.Loop() {
		for i := range sides {
			sides[i].took = append(sides[i].took, sides[i].run(b, code))
		}
	}
	plain, encrypted := middle(sides[0].took), middle(sides[1].took)
	b.ReportMetric(float64(plain.Microseconds()), "plain-µs")
	b.ReportMetric(float64(encrypted.Microseconds()), "encrypted-µs")
	b.ReportMetric(float64(encrypted)/float64(plain), "ratio")
}

func (m *measured) run(b *testing.B, code string) time.Duration {
	begin := time.Now()
	r, err := m.client.Execute(b.Context(), code, nil)
	if err != nil || r.Status != "ok" {
		b.Fatalf("got %s, %v", r.Status, err)
	}
	return time.Since(begin)
}
