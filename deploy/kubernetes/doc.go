// Package kubernetes holds the test of the manifests beside it: that each overlay can be built, that Kubernetes' own types have every field that is
// written there, and that it keeps what is promised of it. It is a module of its own, since these types take minutes to compile; it ends at the files,
// and has no cluster.
package kubernetes
