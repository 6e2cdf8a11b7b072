package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"

	"cancha/internal/cellio"
)

// bundler and annotator are the methods by which a type from anywhere shows itself.
type bundler interface{ MIMEBundle() map[string]any }
type annotator interface{ MIMEMetadata() map[string]any }

// maxPixels is the largest image that is encoded: PNG takes about a second for it.
const maxPixels = 50_000_000

// retinaWidth is the width in pixels from which on an image counts as drawn for two pixels a point.
const retinaWidth = 800

// Of returns how v is displayed. It never fails: whatever goes wrong is in the text. Metadata is never nil.
func Of(v any) cellio.Display {
	d, ok, trouble := rich(v)
	if trouble != "" {
		return encode(map[string]any{mimeText: trouble}, nil)
	}
	if !ok {
		return encode(map[string]any{mimeText: Text(v)}, nil)
	}
	if s, isText := d.Data[mimeText].(string); !isText || s == "" {
		d.Data[mimeText] = brief(v)
	}
	return d
}

// rich asks v, the attached renderers and the image encoder; trouble tells why what they give cannot be shown, a panic on the way for one.
// An interrupt, and os.Exit, which are panics too, end the cell as they would anywhere else.
func rich(v any) (d cellio.Display, ok bool, trouble string) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if cellio.Stops(p) { // an interrupt, or os.Exit
			panic(p)
		}
		trouble = fmt.Sprintf("panic while showing a %T: %s", v, strings.TrimPrefix(cellio.FaultOf(p).Error(), "panic: "))
	}()
	if d, ok = drawn(v); ok {
		trouble = unencodable(d) // it calls methods of what is in it
	}
	return d, ok, trouble
}

func drawn(v any) (d cellio.Display, ok bool) {
	if b, is := v.(bundler); is {
		if data := b.MIMEBundle(); len(data) > 0 {
			return encode(data, metadataOf(v)), true
		}
	}
	if d, ok = cellio.Render(v); ok {
		return encode(d.Data, d.Metadata), true
	}
	if img, is := v.(image.Image); is {
		return ofImage(img), true
	}
	return cellio.Display{}, false
}

func metadataOf(v any) map[string]any {
	if a, ok := v.(annotator); ok {
		return a.MIMEMetadata()
	}
	return nil
}

// ofImage shows an image as PNG. From retinaWidth on its width on the page is half its pixels.
func ofImage(img image.Image) cellio.Display {
	size := img.Bounds().Size()
	text := fmt.Sprintf("image, %d × %d pixels", size.X, size.Y)
	if size.X <= 0 || size.Y <= 0 || size.X*size.Y > maxPixels {
		return encode(map[string]any{mimeText: text + ": not shown, " + group(maxPixels) + " pixels are the most, one the least"}, nil)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return encode(map[string]any{mimeText: text + ": " + err.Error()}, nil)
	}
	width := size.X
	if width >= retinaWidth {
		width /= 2
	}
	return encode(map[string]any{mimePNG: b.Bytes(), mimeText: text}, map[string]any{mimePNG: map[string]any{"width": width}})
}

// unencodable says what in d has no JSON form: the frame would be refused as a whole, and the cell would show nothing.
func unencodable(d cellio.Display) string {
	for mime, v := range d.Data {
		if _, isText := v.(string); isText {
			continue
		}
		if _, err := json.Marshal(v); err != nil {
			return fmt.Sprintf("cannot show %s: %v", mime, err)
		}
	}
	if _, err := json.Marshal(d.Metadata); err != nil {
		return fmt.Sprintf("cannot show metadata: %v", err)
	}
	return ""
}

// brief is the text of a value that shows itself in other types only: its own words if it has some, else its type.
func brief(v any) string {
	if s, ok := ownWords(v); ok {
		return cut(s)
	}
	return fmt.Sprintf("<%T>", v)
}
