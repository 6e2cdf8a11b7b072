// Package foreign holds the generated tables of the libraries of others that cells may import, and the export data of the same packages.
// It ends at the data: package symbols reads them.
package foreign
