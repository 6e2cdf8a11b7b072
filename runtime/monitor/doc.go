// Package monitor is the page that shows what runs in this process, on port 4040 as Spark's UI: queries, fits, loads, producers, GPU sessions. It
// knows them by the list of internal/running alone, and ends there: it computes nothing for them, and asks only while somebody looks.
//
// The same numbers are JSON under the paths of Spark's REST API (/api/v1/applications/…), with its field names, and text for Prometheus under
// /metrics. All links on the page are relative, so that it works behind a proxy that puts a path before them.
//
// Who may look: programs and browsers of this machine, of each of its accounts, under the names of its loopback. Whoever comes under another name,
// or through a proxy that says so in a header, needs the token. A page of another origin gets nothing. A proxy or a port forwarder that names
// loopback and adds no header is taken for a program of this machine. See guard.go.
package monitor
