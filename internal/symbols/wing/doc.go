// Package wing holds the generated tables of the library wing of this module, and the export data of the same packages.
// It ends at the data: package symbols reads them.
package wing
