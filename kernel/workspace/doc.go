// Package workspace builds, keeps and finds the engine that can load compiled cells. Go loads a plugin only into a program
// that was built by the same toolchain, in the same folder, with the same flags and the same versions of all modules that
// the two share. So that engine is built by the user's own toolchain, once, in a folder of their cache, a workspace: the
// sources that this program carries, the engine, and the compiled packages that cells are linked with.
//
// A workspace's folder is named by a hash of all that went into it. It is built in place, under a lock, and its description,
// workspace.json, is written last: a folder without one is unfinished. The package ends at the folder: starting the engine is the
// caller's business, compiling cells with what workspace.json describes is the evaluator's.
//
//	KEY.lock          shared by the sessions that use the workspace, exclusive while it is built or removed
//	KEY.log           what the go command said when it was built
//	KEY/src           the sources
//	KEY/go.mod        theirs, with what was added (go.sum beside it)
//	KEY/modules       copies of modules: changed to be loadable (assembly.go), vendored (vendor.go), under another path (beside.go)
//	KEY/overlay.json  what is changed in packages runtime and os, whose files are beside it (see runtime.go)
//	KEY/bin/cancha    the engine
//	KEY/pkg           compiled packages
//	KEY/importcfg     which of them is which, as the compiler and the linker read it
//	KEY/cells         built cells
//	KEY/contents.json files and sizes, by which damage is seen
//	KEY/workspace.json
package workspace
