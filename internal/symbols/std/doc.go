// Package std holds the generated tables of the standard library, and the export data of the same packages.
// It ends at the data: package symbols reads them.
package std
