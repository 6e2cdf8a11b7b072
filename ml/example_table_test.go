package ml_test

import (
	"fmt"
	"os"
	"path/filepath"

	"cancha/ml"
	"cancha/runtime/table"
)

// A file becomes a dataset by saying what its columns are.
func ExampleOpenCSV() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "penguins.csv")
	text := "island,length,species\nDream,36.5,Adelie\nBiscoe,48.7,Gentoo\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	d, err := ml.OpenCSV(path, ml.Roles{Label: "species", OneHot: []string{"island"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Features, d.Values, d.Classes, d.Labels)
	// Output: [island_Biscoe island_Dream length] [0 1 36.5 1 0 48.7] [Adelie Gentoo] [0 1]
}

// Learned roles make the same features of rows that come later.
func ExampleRoles_Learn() {
	train, err := table.Of([][]string{{"island", "species"}, {"Dream", "Adelie"}, {"Biscoe", "Gentoo"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	roles, err := ml.Roles{Label: "species", OneHot: []string{"island"}}.Learn(train)
	if err != nil {
		fmt.Println(err)
		return
	}
	roles.Unlabelled = true
	later, err := table.Of([][]string{{"island"}, {"Dream"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := ml.FromTable(later, roles)
	fmt.Println(d.Features, d.Values, err)
	// Output: [island_Biscoe island_Dream] [0 1] <nil>
}

// Tags say what the fields of a struct are.
func ExampleFromStructs() {
	type shot struct {
		Distance float64
		Foot     string `ml:"ordinal"`
		Goal     bool   `ml:"label"`
		Match    int64  `ml:"group"`
	}
	d, err := ml.FromStructs([]shot{{11, "right", true, 7}, {25, "left", false, 7}}, ml.Roles{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Features, d.Values, d.Classes, d.Labels, d.Groups)
	// Output: [Distance Foot] [11 1 25 0] [false true] [1 0] [7 7]
}
