package onnx

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of onnx.proto, as far as they are needed, and the numbers of their fields:
//
//	ModelProto      ir_version 1, producer_name 2, graph 7, opset_import 8 (domain 1, version 2), metadata_props 14 (key 1, value 2)
//	GraphProto      node 1, name 2, input 11, output 12
//	NodeProto       input 1, output 2, name 3, op_type 4, attribute 5, domain 7
//	AttributeProto  name 1, i 3, s 4, t 5, floats 7, ints 8, strings 9, type 20
//	TensorProto     dims 1, data_type 2, float_data 4, int32_data 5, raw_data 9, double_data 10, data_location 14
//	ValueInfoProto  name 1, type 2 (tensor_type 1: elem_type 1, shape 2: dim 1: dim_value 1, dim_param 2)

// Element types of tensors.
const (
	typeFloat  = 1
	typeUint8  = 2
	typeInt64  = 7
	typeString = 8
	typeDouble = 11
)

// mostNodes is how many operators a graph may have: those of a forest have a handful.
const mostNodes = 1000

// model is what is needed of a file. Texts and messages are views into its bytes.
type model struct {
	opset    int64 // version of ai.onnx.ml
	nodes    []node
	inputs   []input
	features []string // of metadata_props; nil: not there
	classes  []string
}

// input is a value that the caller of the graph gives.
type input struct {
	name    string
	elem    int64 // type of its elements
	columns int64 // size of its second dimension; 0: not said
}

// node is one operator of the graph.
type node struct {
	op, domain      string
	inputs, outputs []string
	attributes      map[string][]byte // messages, by name
}

func (n *node) String() string {
	if n.domain == "" || n.domain == "ai.onnx.ml" || n.domain == "ai.onnx" {
		return n.op
	}
	return n.domain + "." + n.op
}

// parse takes a file apart.
func parse(data []byte) (*model, error) {
	m := &model{}
	var graph []byte
	err := each(data, func(v field) (err error) {
		switch v.num {
		case 7:
			if graph != nil {
				return fmt.Errorf("it has two graphs; export it again")
			}
			graph = v.bytes
		case 8:
			err = m.parseOpset(v.bytes)
		case 14:
			err = m.parseMetadata(v.bytes)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if graph == nil {
		return nil, fmt.Errorf("it has no graph: this is no ONNX model")
	}
	return m, m.parseGraph(graph)
}

// parseOpset keeps the version of the operators of machine learning.
func (m *model) parseOpset(message []byte) error {
	domain, version := "", int64(0)
	err := each(message, func(v field) error {
		switch v.num {
		case 1:
			domain = string(v.bytes)
		case 2:
			version = int64(v.number)
		}
		return nil
	})
	if domain == "ai.onnx.ml" {
		m.opset = max(m.opset, version)
	}
	return err
}

// Keys of metadata_props.
const (
	featureNames = "feature_names"
	classNames   = "class_names"
)

// parseMetadata keeps the names that SaveClassifier and SaveRegressor write.
func (m *model) parseMetadata(message []byte) error {
	var key string
	var value []byte
	err := each(message, func(v field) error {
		switch v.num {
		case 1:
			key = string(v.bytes)
		case 2:
			value = v.bytes
		}
		return nil
	})
	into := map[string]*[]string{featureNames: &m.features, classNames: &m.classes}[key]
	if err != nil || into == nil {
		return err
	}
	*into = nil
	if err := json.Unmarshal(value, into); err != nil || len(*into) == 0 {
		return fmt.Errorf("metadata_props: %s is no list of names in JSON; take it out, or write it as [\"a\", \"b\"]", key)
	}
	return nil
}

// parseGraph reads the operators and the inputs.
func (m *model) parseGraph(message []byte) error {
	nodes, err := count(message, 1)
	if err != nil {
		return err
	}
	if nodes > mostNodes {
		return fmt.Errorf("its graph has %d operators; a forest alone has a few, and no more than %d are read", nodes, mostNodes)
	}
	inputs, err := count(message, 11)
	if err != nil {
		return err
	}
	m.nodes, m.inputs = make([]node, 0, nodes), make([]input, 0, min(inputs, len(message)/4)) // an input without a name is refused
	return each(message, func(v field) error {
		switch v.num {
		case 1:
			n, err := parseNode(v.bytes)
			m.nodes = append(m.nodes, n)
			return err
		case 11:
			in, err := parseInput(v.bytes)
			m.inputs = append(m.inputs, in)
			return err
		}
		return nil
	})
}

// parseNode reads an operator. What its attributes hold is read when it is asked for.
func parseNode(message []byte) (n node, err error) {
	inputs, err := count(message, 1)
	if err != nil {
		return n, err
	}
	n.inputs, n.attributes = make([]string, 0, min(inputs, len(message)/3)), map[string][]byte{}
	err = each(message, func(v field) error {
		switch v.num {
		case 1:
			if len(v.bytes) > 0 { // an optional input that is left out
				n.inputs = append(n.inputs, string(v.bytes))
			}
		case 2:
			n.outputs = append(n.outputs, string(v.bytes))
		case 4:
			n.op = string(v.bytes)
		case 7:
			n.domain = string(v.bytes)
		case 5:
			return n.parseAttribute(v.bytes)
		}
		return nil
	})
	return n, err
}

func (n *node) parseAttribute(message []byte) error {
	name, err := text(message, 1)
	if err != nil {
		return err
	}
	if n.attributes[name] != nil {
		return fmt.Errorf("%v has two attributes %q; export it again", n, name)
	}
	n.attributes[name] = message
	return nil
}

// text reads a field that holds a text; the last one counts, as in protobuf.
func text(message []byte, num protowire.Number) (s string, err error) {
	err = each(message, func(v field) error {
		if v.num == num {
			s = string(v.bytes)
		}
		return nil
	})
	if err == nil && !utf8.ValidString(s) {
		return "", fmt.Errorf("%q is no text in UTF-8; export it again", s)
	}
	return s, err
}

// whole reads a field that holds a whole number.
func whole(message []byte, num protowire.Number) (n int64, err error) {
	err = each(message, func(v field) error {
		if v.num == num {
			n = int64(v.number)
		}
		return nil
	})
	return n, err
}

// inside returns the message that a field of a message holds; nil where there is none.
func inside(message []byte, num protowire.Number) (out []byte, err error) {
	err = each(message, func(v field) error {
		if v.num == num {
			out = v.bytes
		}
		return nil
	})
	return out, err
}

// parseInput reads the name and the type of an input.
func parseInput(message []byte) (in input, err error) {
	if in.name, err = text(message, 1); err != nil {
		return in, err
	}
	if in.name == "" {
		return in, fmt.Errorf("an input of the graph has no name; export it again")
	}
	for _, num := range []protowire.Number{2, 1} { // type, tensor_type
		if message, err = inside(message, num); err != nil {
			return in, err
		}
	}
	if in.elem, err = whole(message, 1); err != nil {
		return in, err
	}
	shape, err := inside(message, 2)
	if err != nil {
		return in, err
	}
	dim := 0
	err = each(shape, func(v field) (err error) {
		if dim++; v.num == 1 && dim == 2 {
			in.columns, err = whole(v.bytes, 1)
		}
		return err
	})
	return in, err
}
