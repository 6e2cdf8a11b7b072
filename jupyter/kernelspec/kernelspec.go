// Package kernelspec puts Cancha where Jupyter looks for kernels, takes it away, and tells what is there. It ends at the
// folder: what the kernel does once Jupyter starts it is the kernel's business.
//
// A kernel is a folder NAME in a "kernels" folder of Jupyter's data path, with kernel.json, the logos and, ours, the
// program itself: kernel.json names it as {resource_dir}/cancha, so the folder can be moved or put into an image whole.
package kernelspec

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

//go:embed logos
var logos embed.FS

// DefaultName and DefaultDisplayName are what Install uses where Options leave them empty.
const (
	DefaultName        = "cancha"
	DefaultDisplayName = "Go (Cancha)"
)

// Program is the name of the kernel's program in its folder.
const Program = "cancha"

// ErrNotOurs is returned by Install and Uninstall for a folder that holds another kernel: give another name.
var ErrNotOurs = errors.New("it is there, and not of our making: give another name, or remove it")

// ErrByPip is returned by Install and Uninstall for a folder that came with our wheel, which pip alone may change.
var ErrByPip = errors.New("pip has installed it: give another name, or run \"pip uninstall cancha\"")

// ErrNotInstalled is returned by Uninstall when there is nothing to take away.
var ErrNotInstalled = errors.New("no such kernel is installed")

// Options tell which kernel goes where. At most one of User, SysPrefix and Prefix may be set; none is as User.
type Options struct {
	User      bool   // the user's own data folder
	SysPrefix bool   // the Python environment in use
	Prefix    string // PREFIX/share/jupyter

	Name        string            // folder and kernel name; DefaultName if empty
	DisplayName string            // DefaultDisplayName if empty
	Variables   map[string]string // of the kernel's environment, in kernel.json
	Program     string            // the file that becomes the kernel's program; the running program if empty
	Version     string            // of the program, for whoever reads kernel.json
	Env         Env               // the process's environment if nil
}

// Spec is the content of kernel.json, as far as Cancha sets it.
type Spec struct {
	Argv            []string          `json:"argv"`
	DisplayName     string            `json:"display_name"`
	Language        string            `json:"language"`
	InterruptMode   string            `json:"interrupt_mode"`
	ProtocolVersion string            `json:"kernel_protocol_version"`
	Env             map[string]string `json:"env,omitempty"`
	Metadata        Metadata          `json:"metadata"`
}

// Metadata tells front ends what the kernel can do, and us that the folder is ours.
type Metadata struct {
	Debugger   bool     `json:"debugger"`
	Encryption []string `json:"supported_encryption"` // of the channels, where the client asks for it
	By         string   `json:"installed_by"`
	Version    string   `json:"version,omitempty"` // of the program that made it
}

// The values of Metadata.By.
const (
	ByInstall = "cancha" // Install made the folder
	ByPip     = "pip"    // it came with a wheel
)

// Logos returns the kernel's pictures, under the names that Jupyter looks for.
func Logos() fs.FS {
	sub, err := fs.Sub(logos, "logos")
	if err != nil { // the name above is sound
		panic(err)
	}
	return sub
}

// JSON returns the content of kernel.json.
func (s Spec) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// NewSpec returns what Install writes.
func NewSpec(displayName string) Spec {
	return Spec{
		Argv:            []string{"{resource_dir}/" + Program, "kernel", "{connection_file}"},
		DisplayName:     displayName,
		Language:        "go",
		InterruptMode:   "message",
		ProtocolVersion: "5.5",
		Metadata:        Metadata{Encryption: []string{"curve"}, By: ByInstall},
	}
}

// validName is what jupyter_client takes for a kernel's name; the leading letter keeps hidden folders out.
var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// fill puts the defaults in and refuses what contradicts itself.
func (o *Options) fill() error {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.DisplayName == "" {
		o.DisplayName = DefaultDisplayName
	}
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	if !validName.MatchString(o.Name) {
		return fmt.Errorf("kernel name %q: only letters, digits and - . _ are allowed, a letter or digit first", o.Name)
	}
	set := 0
	for _, b := range []bool{o.User, o.SysPrefix, o.Prefix != ""} {
		if b {
			set++
		}
	}
	if set > 1 {
		return errors.New("user, sys-prefix and prefix name different places: give one of them")
	}
	return nil
}

// data returns the Jupyter data folder that the options name.
func (o *Options) data() (string, error) {
	switch {
	case o.Prefix != "":
		prefix, err := filepath.Abs(o.Prefix)
		return filepath.Join(prefix, "share", "jupyter"), err
	case o.SysPrefix:
		prefix, err := sysPrefix(o.Env)
		return filepath.Join(prefix, "share", "jupyter"), err
	default:
		return userData(o.Env)
	}
}

// Install writes the kernel's folder and returns its path. An older installation of the same name is replaced; a kernel
// that runs from it goes on. Everything is written beside the place and moved there when it is complete, so that Jupyter
// never sees half a kernel.
func Install(o Options) (string, error) {
	if err := o.fill(); err != nil {
		return "", err
	}
	data, err := o.data()
	if err != nil {
		return "", fmt.Errorf("find Jupyter's data folder: %w", err)
	}
	folder := filepath.Join(data, "kernels", o.Name)
	if err := checkOurs(folder); err != nil && !errors.Is(err, ErrNotInstalled) {
		return "", err
	}
	stage, err := makeStage(data)
	if err != nil {
		return "", fmt.Errorf("install into %s: %w", data, err)
	}
	defer os.RemoveAll(stage)
	if err := o.fillFolder(filepath.Join(stage, "new")); err != nil {
		return "", fmt.Errorf("install into %s: %w", data, err)
	}
	if err := swap(stage, folder); err != nil {
		return "", fmt.Errorf("install into %s: %w", data, err)
	}
	return folder, nil
}

// makeStage makes a folder on the same file system as the kernels, but not among them: Jupyter would list it.
func makeStage(data string) (string, error) {
	if err := os.MkdirAll(filepath.Join(data, "kernels"), 0o777); err != nil {
		return "", err
	}
	return os.MkdirTemp(data, ".cancha-install-")
}

func (o *Options) fillFolder(folder string) error {
	if err := os.Mkdir(folder, 0o777); err != nil {
		return err
	}
	if err := os.CopyFS(folder, Logos()); err != nil {
		return err
	}
	if err := o.copyProgram(filepath.Join(folder, Program)); err != nil {
		return err
	}
	content := NewSpec(o.DisplayName)
	content.Metadata.Version = o.Version
	content.Env = o.Variables
	spec, err := content.JSON()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "kernel.json"), spec, 0o666)
}

// copyProgram copies rather than links: whoever may write the original later must not thereby change the kernel.
func (o *Options) copyProgram(to string) error {
	from := o.Program
	if from == "" {
		var err error
		if from, err = os.Executable(); err != nil {
			return fmt.Errorf("find the running program: %w", err)
		}
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o777)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		return errors.Join(fmt.Errorf("copy %s: %w", from, err), dst.Close())
	}
	return dst.Close()
}

// swap moves stage/new to folder, and what was there to stage/old, back again if the first move fails.
func swap(stage, folder string) error {
	old := filepath.Join(stage, "old")
	err := os.Rename(folder, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	replaced := err == nil
	if err := os.Rename(filepath.Join(stage, "new"), folder); err != nil {
		if replaced {
			return errors.Join(err, os.Rename(old, folder))
		}
		return err
	}
	return nil
}

// Uninstall takes the kernel's folder away and returns its path.
func Uninstall(o Options) (string, error) {
	if err := o.fill(); err != nil {
		return "", err
	}
	data, err := o.data()
	if err != nil {
		return "", fmt.Errorf("find Jupyter's data folder: %w", err)
	}
	folder := filepath.Join(data, "kernels", o.Name)
	if err := checkOurs(folder); err != nil {
		return "", err
	}
	if err := os.RemoveAll(folder); err != nil {
		return "", fmt.Errorf("uninstall: %w", err)
	}
	return folder, nil
}

// checkOurs returns nil for a folder that Install made, ErrNotInstalled where there is nothing, an error of the file system
// where it does not tell, ErrByPip for one that came with a wheel, else ErrNotOurs.
func checkOurs(folder string) error {
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", folder, ErrNotInstalled)
	} else if err != nil {
		return err
	}
	spec, err := Read(folder)
	switch {
	case err == nil && spec.Metadata.By == ByInstall:
		return nil
	case err == nil && spec.Metadata.By == ByPip:
		return fmt.Errorf("%s: %w", folder, ErrByPip)
	}
	return fmt.Errorf("%s: %w", folder, ErrNotOurs)
}

// Read returns the kernel.json of a kernel's folder.
func Read(folder string) (Spec, error) {
	data, err := os.ReadFile(filepath.Join(folder, "kernel.json"))
	if err != nil {
		return Spec{}, err
	}
	var s Spec
	if err := json.Unmarshal(data, &s); err != nil {
		return Spec{}, fmt.Errorf("%s: %w", filepath.Join(folder, "kernel.json"), err)
	}
	return s, nil
}
