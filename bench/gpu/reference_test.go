package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// standIn runs reference.py with a PyTorch that does nothing and knows every name; CuPy is missing. It prints how Adam was made.
const standIn = `
import sys, unittest.mock
torch = unittest.mock.MagicMock(__version__="2")
torch.version.cuda = "12.6"
torch.cuda.get_device_name.return_value = "NVIDIA H100"
torch.cuda.Event.return_value.elapsed_time.return_value = 1.5
sys.modules |= {"torch": torch, "cupy": None}
sys.argv[0] = "reference.py"
import reference
reference.main()
print(torch.optim.Adam.call_args.kwargs, torch.backends.cudnn.benchmark)
`

// TestReference: the folder is made, rows have the names of our works, and what is missing is told. It says nothing of PyTorch itself.
func TestReference(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	out := filepath.Join(t.TempDir(), "bench", "results")
	c := exec.CommandContext(t.Context(), python, "-B", "-c", standIn, "--out", out)
	printed, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	found, err := filepath.Glob(filepath.Join(out, "reference-nvidia-h100-*.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v, want one file", found, err)
	}
	raw, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"vector add, 10,000,000 elements": 1.5`, `"matrix multiply, 1000 × 1000": 1.5`, `"convolution, 4 × 1024 × 1024 by 3 × 3": 1.5`,
		`"cupy": "left out: `, `"driver": "`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in\n%s", want, raw)
		}
	}
	if want := "{'fused': True, 'capturable': True} True"; !strings.Contains(string(printed), want) {
		t.Errorf("got %s, want %s", printed, want)
	}
}
