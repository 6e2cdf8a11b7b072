package job

import "testing"

func TestMisspelled(t *testing.T) {
	for name, want := range map[string]string{
		"matrix_multipy": MatrixMultiply, "matrix_mutliply": MatrixMultiply, "Matrix-Multiply": MatrixMultiply,
		"matrixmultiply": MatrixMultiply, "matrix_multiplay": MatrixMultiply,
		"vector_adition": VectorAddition, "image_procesing": ImageProcessing, "neural_netwrok": NeuralNetwork, "neural_networks": "",
		"matrix_multiply_2": "", "matrix": "", "": "",
		"t": "", "make_coffee": "", "vector_subtraction": "", MatrixMultiply: "", "xxmatrix_multiply": MatrixMultiply, "xxxmatrix_multiply": "",
	} {
		if got := Misspelled(name, Types()); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	if got := Misspelled("ab", []string{"ac"}); got != "" {
		t.Errorf("a short name: got %q", got)
	}
}

// Two submissions have the same content where the one may be submitted again as the other.
func TestContent(t *testing.T) {
	specs := []Spec{
		{ID: "a", Type: MatrixMultiply, Parameters: []byte(`{"size":3}`)}, {ID: "a", Type: MatrixMultiply, Parameters: []byte(`{"size": 3.0, "note": 1}`)},
		{ID: "a", Type: MatrixMultiply, Parameters: []byte(`{"size":3,"iterations":2}`)}, {ID: "a", Type: "mine", Parameters: []byte(`{"size":3}`)},
		{ID: "a", Type: "mine", Parameters: []byte(`{ "size": 3 }`)}, {ID: "a", Type: "mine"},
		{ID: "a", Type: VectorAddition, Parameters: []byte(`{"size":3}`)},
	}
	for i := range specs {
		for j := range specs {
			if same := specs[i].Content() == specs[j].Content(); same != (specs[i].Other(&specs[j]) == "") {
				t.Errorf("%s %s and %s %s: the same content %v, and Other says %q", specs[i].Type, specs[i].Parameters, specs[j].Type,
					specs[j].Parameters, same, specs[i].Other(&specs[j]))
			}
		}
	}
}

// How parameters are written says nothing of what they are; what some reader tells apart is another content.
func TestContentWritten(t *testing.T) {
	for _, c := range []struct {
		one, two string
		same     bool
	}{
		{`{"path":"a","parameters":{"n":3,"s":"x"}}`, `{"parameters":{"s":"x","n":3},"path":"a"}`, true},
		{`{"l":[{"a":1,"b":[2,{"c":null,"d":true}]}]}`, `{ "l" : [ {"b":[2,{"d":true,"c":null}], "a":1} ] }`, true},
		{`{"s":"é<\u0041"}`, `{"s":"\u00e9\u003cA"}`, true},
		{`{"n":12345678901234567890}`, `{ "n": 12345678901234567890}`, true},
		{`{"n":12345678901234567890}`, `{"n":12345678901234567891}`, false},
		{`{"n":1}`, `{"n":1.0}`, false},
		{`{"n":1}`, `{"n":"1"}`, false},
		{`{"n":1}`, `{"N":1}`, false},
		{`{"n":[1,2]}`, `{"n":[2,1]}`, false},
		{`{"n":null}`, `{}`, false},
		{`{"m":{"a":1},"m":{"b":2}}`, `{"m":{"b":2}}`, false},
		{`{}`, ``, false},
	} {
		one, two := Spec{ID: "a", Type: "mine", Parameters: []byte(c.one)}, Spec{ID: "a", Type: "mine", Parameters: []byte(c.two)}
		if same := one.Other(&two) == ""; same != c.same || (one.Content() == two.Content()) != c.same {
			t.Errorf("%s and %s: the same %v, by their content %v, want %v", c.one, c.two, same, one.Content() == two.Content(), c.same)
		}
	}
}
