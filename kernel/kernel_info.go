package kernel

import (
	"runtime"
	"strings"

	"cancha/kernel/wire"
)

type kernelInfoReply struct {
	Status                string       `json:"status"`
	ProtocolVersion       string       `json:"protocol_version"`
	Implementation        string       `json:"implementation"`
	ImplementationVersion string       `json:"implementation_version"`
	LanguageInfo          languageInfo `json:"language_info"`
	Banner                string       `json:"banner"`
	HelpLinks             []helpLink   `json:"help_links"`
	SupportedFeatures     []string     `json:"supported_features"`
}

// languageInfo tells front ends how to show Go. There is no nbconvert_exporter: the ordinary script exporter serves.
type languageInfo struct {
	Name           string `json:"name"`
	Version        string `json:"version"`
	MIMEType       string `json:"mimetype"`
	FileExtension  string `json:"file_extension"`
	PygmentsLexer  string `json:"pygments_lexer"`
	CodeMirrorMode string `json:"codemirror_mode"`
}

type helpLink struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// kernelInfo answers at once, whether or not an engine serves yet: clients wait for this reply before they do anything. Until the engine
// has told its Go version, the kernel's own stands in for it; an engine that the user's toolchain has built may be newer.
func (k *Kernel) kernelInfo() kernelInfoReply {
	version := k.engine.Info().GoVersion
	if version == "" {
		version = strings.TrimPrefix(runtime.Version(), "go")
	}
	version, _, _ = strings.Cut(version, " ") // experiments follow a blank
	return kernelInfoReply{
		Status:                "ok",
		ProtocolVersion:       wire.Version,
		Implementation:        "cancha",
		ImplementationVersion: k.version,
		LanguageInfo: languageInfo{
			Name: "go", Version: version, MIMEType: "text/x-go", FileExtension: ".go", PygmentsLexer: "go", CodeMirrorMode: "go",
		},
		Banner: "Cancha " + k.version + ", a kernel for Go " + version,
		HelpLinks: []helpLink{
			{"Go: language specification", "https://go.dev/ref/spec"},
			{"Go: standard library", "https://pkg.go.dev/std"},
		},
		SupportedFeatures: []string{"kernel subshells"}, // no debugger
	}
}
