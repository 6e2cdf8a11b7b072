package disk

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"
)

// Migration is a step from an older form to the next.
type Migration struct {
	To string
	Do func(*Tx) error
}

// recognize looks at the form of a file: its own is taken, an older one is made newer, and another one refused by name. Of its own it
// writes nothing, so that a full disk can be read.
func (f *File) recognize() error {
	form := ""
	err := f.db.View(func(tx *bbolt.Tx) error {
		about := tx.Bucket(bucketAbout)
		if about == nil {
			return errors.New("it was written by another program; give another folder")
		}
		form, f.batch = string(about.Get(keyForm)), lastBatch(about)
		return nil
	})
	if err != nil || form == f.options.Form {
		return err
	}
	if _, older := f.options.Older[form]; older {
		return f.db.Update(f.migrate)
	}
	return foreign(form, f.options.Form)
}

// migrate goes from form to form until the file has its own.
func (f *File) migrate(tx *Tx) error {
	about := tx.Bucket(bucketAbout)
	for form := string(about.Get(keyForm)); form != f.options.Form; form = string(about.Get(keyForm)) {
		step, ok := f.options.Older[form]
		if !ok {
			return foreign(form, f.options.Form)
		}
		if err := step.Do(tx); err != nil {
			return fmt.Errorf("it is in the older format %q, and cannot be made %q: %w", form, step.To, err)
		}
		if err := about.Put(keyForm, []byte(step.To)); err != nil {
			return err
		}
	}
	return nil
}

// foreign is why a file of a form is refused.
func foreign(form, own string) error {
	name, version := split(form)
	mine, known := split(own)
	switch {
	case name != mine:
		return fmt.Errorf("it is in the format %.60q of another program, and not %q; give another folder", form, own)
	case version > known:
		return fmt.Errorf("it is in the format %.60q of a newer version of this program, which knows up to %q; use that version, or give another folder", form, own)
	}
	return fmt.Errorf("it is in the format %.60q of a version before the first one, and this one knows %q; give another folder", form, own)
}

// split takes a form apart. The name may be missing, as of queues; a version that is none is 0.
func split(form string) (name string, version int) {
	at := strings.LastIndexByte(form, ' ') + 1
	version, err := strconv.Atoi(form[at:])
	if err != nil {
		return form, 0
	}
	return form[:at], version
}
