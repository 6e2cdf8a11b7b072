package ml

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Roles say what the columns of a table are to a model. The zero value makes every column a feature.
type Roles struct {
	Label  string // column of the class of each row; its values name the classes
	Target string // column of the number to predict
	Group  string // column of the group, such as a match: whole numbers, or any text, which is numbered by first appearance
	Weight string // column of the weight, see [Dataset].Weights

	Features []string // columns to learn from, in this order; nil: all that have no other role, in the table's order
	Drop     []string // columns that are left out

	// A column of text has to be made numbers. OneHot makes a feature of each of its values, named column_value, which is 1 where the row has
	// that value and 0 elsewhere. Ordinal makes the column one feature, the position of the row's value among Values, from 0.
	OneHot, Ordinal []string
	// Values are those of the columns in OneHot and Ordinal, in order; of a column that is not here those that the table has, sorted. A row
	// with another value is an error. Learn fills them in, so that rows that come later get the same features.
	Values  map[string][]string
	Classes []string // the classes in order; nil: the labels that the table has, sorted, numbers by value

	// Missing keeps empty values, and NaN, as missing: see [Dataset].Missing. False: one is an error that names its row and column. What is
	// empty, or one of NA, N/A, NaN, nan and null, among numbers is missing; of a column in OneHot or Ordinal what is empty.
	Missing bool
	// Unlabelled is for rows to predict: the columns Label and Target are not read, and need not be there.
	Unlabelled bool
}

// mostValues is up to how many features one column is made into.
const mostValues = 4096

// Learn returns the roles with what the table decides filled in: Features, Values and Classes. With it, FromTable makes the same features and
// classes of any other table, one of rows to predict for instance.
func (r Roles) Learn(t Table) (Roles, error) {
	if err := r.check(t.Columns()); err != nil {
		return r, err
	}
	if r.Features == nil {
		r.Features = slices.DeleteFunc(slices.Clone(t.Columns()), func(name string) bool {
			return name == r.Label || name == r.Target || name == r.Group || name == r.Weight || slices.Contains(r.Drop, name)
		})
	}
	values := map[string][]string{}
	for _, name := range r.encoded() {
		given, ok := r.Values[name]
		if !ok {
			texts, err := t.Strings(name)
			if err != nil {
				return r, fmt.Errorf("ml: column %q: %w", name, err)
			}
			given = names(texts)
		}
		if values[name] = given; len(given) > mostValues && slices.Contains(r.OneHot, name) {
			return r, fmt.Errorf("ml: column %q has %d values, and OneHot makes up to %d features of one; take Ordinal, or leave it out with Drop", name, len(given), mostValues)
		}
	}
	r.Values = values
	if r.Label != "" && r.Classes == nil && !r.Unlabelled {
		texts, err := t.Strings(r.Label)
		if err != nil {
			return r, fmt.Errorf("ml: label %q: %w", r.Label, err)
		}
		r.Classes = names(texts)
	}
	return r, nil
}

// encoded are the features that are made numbers.
func (r Roles) encoded() []string {
	return slices.DeleteFunc(append(slices.Clone(r.OneHot), r.Ordinal...), func(name string) bool { return !slices.Contains(r.Features, name) })
}

// check names the first column that is not there, or has two roles.
func (r Roles) check(columns []string) error {
	if err := distinct("columns", columns); err != nil {
		return err
	}
	role := map[string]string{}
	take := func(what string, names ...string) error {
		for _, name := range names {
			if name == "" {
				continue
			}
			if other, ok := role[name]; ok {
				return fmt.Errorf("ml: column %q is both %s and %s; a column has one role", name, other, what)
			}
			role[name] = what
			if there := slices.Contains(columns, name); !there && !(r.Unlabelled && (what == "Label" || what == "Target")) {
				return fmt.Errorf("ml: there is no column %q for %s; the table has %s", name, what, strings.Join(columns, ", "))
			}
		}
		return nil
	}
	for _, each := range []struct {
		what  string
		names []string
	}{
		{"Label", []string{r.Label}}, {"Target", []string{r.Target}}, {"Group", []string{r.Group}}, {"Weight", []string{r.Weight}},
		{"Drop", r.Drop}, {"Features", r.Features},
	} {
		if err := take(each.what, each.names...); err != nil {
			return err
		}
	}
	encoding := map[string]bool{}
	for _, name := range append(slices.Clone(r.OneHot), r.Ordinal...) {
		switch what := role[name]; {
		case encoding[name]:
			return fmt.Errorf("ml: column %q is named twice in OneHot and Ordinal; it is made numbers in one way", name)
		case !slices.Contains(columns, name):
			return fmt.Errorf("ml: there is no column %q for OneHot or Ordinal; the table has %s", name, strings.Join(columns, ", "))
		case what != "" && what != "Features" || what == "" && r.Features != nil:
			return fmt.Errorf("ml: column %q is in OneHot or Ordinal, and is no feature", name)
		}
		encoding[name] = true
	}
	return nil
}

// names are the distinct values of a column without what is missing, sorted: as numbers if all are numbers.
func names(texts []string) []string {
	all := slices.Compact(slices.Sorted(slices.Values(texts)))
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	numbers := map[string]float64{}
	for _, s := range all {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(v) {
			return all
		}
		numbers[s] = v
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) })
	return all
}
