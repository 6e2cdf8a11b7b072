package display

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"

	"cancha/internal/cellio"
)

// The MIME types that this package makes itself.
const (
	mimeText     = "text/plain"
	mimeHTML     = "text/html"
	mimeMarkdown = "text/markdown"
	mimeLatex    = "text/latex"
	mimeJSON     = "application/json"
	mimePNG      = "image/png"
	mimeSVG      = "image/svg+xml"
)

// Bundle is one value in several MIME types. Data maps a MIME type to a string, to bytes (which travel as base64 unless
// the type is text) or, for JSON types, to anything that encoding/json accepts. Metadata maps a MIME type to its
// settings, such as the width of an image. A Bundle shows itself.
type Bundle struct {
	Data     map[string]any
	Metadata map[string]any
}

// MIMEBundle returns the data.
func (b Bundle) MIMEBundle() map[string]any { return b.Data }

// MIMEMetadata returns the metadata.
func (b Bundle) MIMEMetadata() map[string]any { return b.Metadata }

// HTML is a piece of HTML. Keep to inline styles: notebooks that are not trusted lose scripts, style sheets and inline
// SVG. Its text/plain is the text without the tags.
func HTML(source string) Bundle {
	return Bundle{Data: map[string]any{mimeHTML: source, mimeText: stripTags(source)}}
}

// Markdown is text in Markdown.
func Markdown(source string) Bundle {
	return Bundle{Data: map[string]any{mimeMarkdown: source, mimeText: source}}
}

// Latex is text in LaTeX; mathematics stands between dollar signs.
func Latex(source string) Bundle {
	return Bundle{Data: map[string]any{mimeLatex: source, mimeText: source}}
}

// JSON is v as a JSON tree. A value that has no JSON form is shown as text with the reason.
func JSON(v any) Bundle {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return Bundle{Data: map[string]any{mimeText: fmt.Sprintf("no JSON: %v\n%s", err, Text(v))}}
	}
	return Bundle{Data: map[string]any{mimeJSON: json.RawMessage(text), mimeText: cut(string(text))}}
}

// PNG is an encoded image, shown at its own size.
func PNG(encoded []byte) Bundle {
	return Bundle{Data: map[string]any{mimePNG: encoded, mimeText: fmt.Sprintf("PNG image, %s bytes", group(len(encoded)))}}
}

// SVG is a drawing. It travels inside an <img>, which notebooks that are not trusted show too; GitHub may not show it:
// prefer PNG for what is published.
func SVG(source string) Bundle {
	uri := "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(source))
	return Bundle{Data: map[string]any{
		mimeHTML: `<img alt="SVG drawing" src="` + uri + `">`,
		mimeSVG:  source,
		mimeText: fmt.Sprintf("SVG drawing, %s bytes", group(len(source))),
	}}
}

func stripTags(source string) string {
	if len(source) <= manyTags {
		return cut(withoutTags(source))
	}
	head, tail := bothEnds(source, manyTags)
	head, tail = withoutTags(head), withoutTags(tail)
	if len(head) > maxText {
		head, _ = bothEnds(head, maxText)
	}
	if len(tail) > maxText {
		_, tail = bothEnds(tail, maxText)
	}
	return head + inAll(len(source)) + tail
}

// manyTags is how much of a page is looked at for its text, in bytes: the whole would cost more than to show it.
const manyTags = 64 * maxText

var tag = regexp.MustCompile(`<[^>]*>`)

func withoutTags(source string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(source, " "))), " ")
}

// encode turns a bundle's data into what travels: text as strings, binary types as base64, JSON types as values.
func encode(data, metadata map[string]any) cellio.Display {
	d := cellio.Display{Data: make(map[string]any, len(data)+1), Metadata: metadata}
	if d.Metadata == nil {
		d.Metadata = map[string]any{}
	}
	for mime, v := range data {
		d.Data[mime] = encodeOne(mime, v)
	}
	return d
}

func encodeOne(mime string, v any) any {
	switch v := v.(type) {
	case json.RawMessage:
		return v
	case []byte:
		if strings.HasPrefix(mime, "text/") || strings.HasSuffix(mime, "xml") {
			return string(v)
		}
		if strings.HasSuffix(mime, "json") && json.Valid(v) {
			return json.RawMessage(v)
		}
		return base64.StdEncoding.EncodeToString(v)
	default:
		return v
	}
}
