package kernelspec

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Env looks a variable of the environment up, as os.LookupEnv.
type Env func(name string) (value string, set bool)

func (e Env) get(name string) string {
	v, _ := e(name)
	return v
}

// userData is the user's data folder by the rules of jupyter_core's jupyter_data_dir.
func userData(env Env) (string, error) {
	if dir := env.get("JUPYTER_DATA_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	home := env.get("HOME")
	if home == "" {
		return "", errors.New("HOME is not set; name a place with -prefix")
	}
	if runtime.GOOS == "darwin" {
		if v := strings.ToLower(env.get("JUPYTER_PLATFORM_DIRS")); v == "1" || v == "true" || v == "yes" || v == "on" {
			return filepath.Join(home, "Library", "Application Support", "jupyter"), nil
		}
		return filepath.Join(home, "Library", "Jupyter"), nil
	}
	if dir := env.get("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), nil
}

// RuntimeFolder is where Jupyter keeps the connection files of running kernels, by the rules of jupyter_core's jupyter_runtime_dir. It
// may not be there.
func RuntimeFolder(env Env) (string, error) {
	if dir := env.get("JUPYTER_RUNTIME_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	data, err := userData(env)
	return filepath.Join(data, "runtime"), err
}

// sysPrefix is where the Python environment in use lies: the active virtual or conda environment, else what python3
// says of itself.
func sysPrefix(env Env) (string, error) {
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := env.get(name); dir != "" {
			return filepath.Abs(dir)
		}
	}
	out, err := exec.Command("python3", "-c", "import sys; print(sys.prefix)").Output()
	if err != nil {
		return "", fmt.Errorf("no Python environment is active, and python3 does not tell its own: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// DataPath lists the folders in which Jupyter looks for kernels/NAME, the first first: JUPYTER_PATH, the user's, the
// environment's, the system's. A Python environment that cannot be found is left out.
func DataPath(env Env) []string {
	var all []string
	for _, dir := range filepath.SplitList(env.get("JUPYTER_PATH")) {
		if dir != "" {
			all = append(all, dir)
		}
	}
	if dir, err := userData(env); err == nil {
		all = append(all, dir)
	}
	if prefix, err := sysPrefix(env); err == nil {
		all = append(all, filepath.Join(prefix, "share", "jupyter"))
	}
	return append(all, "/usr/local/share/jupyter", "/usr/share/jupyter")
}

// Installed is a kernel of ours that Jupyter would find.
type Installed struct {
	Folder, Name string
	Spec         Spec
	Hidden       bool // a kernel of the same name comes before it in the path
}

// Find lists the kernels that Install made or a wheel of ours brought, in the order in which Jupyter looks.
func Find(env Env) []Installed {
	var all []Installed
	seen := map[string]bool{}
	for _, dir := range DataPath(env) {
		folders, _ := filepath.Glob(filepath.Join(dir, "kernels", "*")) // the pattern is sound, and no folder is no kernel
		for _, folder := range folders {
			spec, err := Read(folder)
			if err != nil {
				continue
			}
			name := strings.ToLower(filepath.Base(folder)) // as jupyter_client
			if by := spec.Metadata.By; by == ByInstall || by == ByPip {
				all = append(all, Installed{Folder: folder, Name: name, Spec: spec, Hidden: seen[name]})
			}
			seen[name] = true
		}
	}
	return all
}

// Program returns the installed kernel's program.
func (i Installed) Program() (string, error) {
	if len(i.Spec.Argv) == 0 {
		return "", fmt.Errorf("%s: kernel.json has no argv", i.Folder)
	}
	name := strings.ReplaceAll(i.Spec.Argv[0], "{resource_dir}", i.Folder)
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("%s: not executable", name)
	}
	return name, nil
}
