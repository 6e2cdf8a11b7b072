package spark

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"cancha/spark/internal/protocol"
)

// Explanation is how the server would compute a frame, as Spark's explain writes it.
type Explanation struct{ Text string }

// String is the text.
func (e Explanation) String() string { return e.Text }

// gpuOperator matches the operators that NVIDIA's plugin puts in the place of Spark's: GpuProject, GpuHashAggregate, …
var gpuOperator = regexp.MustCompile(`\bGpu[A-Z]\w*`)

// OnGPU are the lines of the plan that run on GPUs, without what stands in front of an operator; none where the CPU does all the work. With adaptive
// execution the plan of a frame that has not been computed is not the last word.
func (e Explanation) OnGPU() []string {
	var lines []string
	for line := range strings.Lines(e.Text) {
		if at := gpuOperator.FindStringIndex(line); at != nil {
			lines = append(lines, strings.TrimSpace(line[at[0]:]))
		}
	}
	return lines
}

// Detail says how much an explanation tells.
type Detail string

// The details, in Spark's words.
const (
	Simple    Detail = "simple"    // the physical plan
	Extended  Detail = "extended"  // all plans, from the parsed one on
	Codegen   Detail = "codegen"   // the generated code
	Cost      Detail = "cost"      // with what is known of sizes
	Formatted Detail = "formatted" // an outline, and each operator below it
)

func (d Detail) protocol() (protocol.AnalyzeRequest_Explain_Mode, error) {
	switch d {
	case "", Simple:
		return protocol.AnalyzeRequest_Explain_SIMPLE, nil
	case Extended:
		return protocol.AnalyzeRequest_Explain_EXTENDED, nil
	case Codegen:
		return protocol.AnalyzeRequest_Explain_CODEGEN, nil
	case Cost:
		return protocol.AnalyzeRequest_Explain_COST, nil
	case Formatted:
		return protocol.AnalyzeRequest_Explain_FORMATTED, nil
	}
	return 0, fmt.Errorf("spark: %q is no detail of an explanation; there are simple, extended, codegen, cost and formatted", string(d))
}

// Explain asks the server how it would compute the rows.
func (d *DataFrame) Explain(ctx context.Context, detail Detail) (Explanation, error) {
	mode, err := detail.protocol()
	if err != nil {
		return Explanation{}, err
	}
	r, err := d.analysis(ctx, &protocol.AnalyzeRequest{Of: &protocol.AnalyzeRequest_Explain_{Explain: &protocol.AnalyzeRequest_Explain{Plan: d.plan(), Mode: mode}}})
	return Explanation{r.GetExplain().GetText()}, err
}
