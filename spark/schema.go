package spark

import (
	"context"

	"cancha/spark/internal/protocol"
)

// Field is a column of a frame. Type is as in Spark's SQL: "array<decimal(10,2)>".
type Field struct {
	Name     string
	Type     string
	Nullable bool
}

// Schema asks the server for the columns. It computes no rows, and finds names that there are not, and types that do not fit.
func (d *DataFrame) Schema(ctx context.Context) ([]Field, error) {
	r, err := d.analysis(ctx, &protocol.AnalyzeRequest{Of: &protocol.AnalyzeRequest_Schema{Schema: &protocol.AnalyzeRequest_OfPlan{Plan: d.plan()}}})
	if err != nil {
		return nil, err
	}
	var fields []Field
	for _, f := range r.GetSchema().GetSchema().GetStruct().GetFields() {
		fields = append(fields, Field{Name: f.Name, Type: typeText(f.Type), Nullable: f.Nullable})
	}
	return fields, nil
}

// Streaming tells whether the frame is a stream: such a one is for Start, not for Collect.
func (d *DataFrame) Streaming(ctx context.Context) (bool, error) {
	r, err := d.analysis(ctx, &protocol.AnalyzeRequest{Of: &protocol.AnalyzeRequest_IsStreaming{IsStreaming: &protocol.AnalyzeRequest_OfPlan{Plan: d.plan()}}})
	return r.GetIsStreaming().GetIsStreaming(), err
}
