package spark

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cancha/runtime/session"
	"cancha/runtime/session/conf"
	"cancha/spark/internal/protocol"
)

// secret matches the names of settings whose values are not shown, and values that hold such a name, as -Dstore.password=… among Java's options, which
// Spark redacts too. It is Spark's spark.redaction.regex, and what clouds' file systems have beside it, such as fs.azure.account.key.ACCOUNT and the
// signatures of fs.azure.sas.CONTAINER.
var secret = regexp.MustCompile(`(?i)secret|password|passphrase|credential|token|(access|account|private)[.]?key|[.]sas[.]`)

// ofFile sets what the file of settings says of Spark and a session can have, but for what own has, and notes what only the server's start can have
// and the server has otherwise.
func (s *Session) ofFile(ctx context.Context, own map[string]string) error {
	file, err := session.SparkSettings()
	if err != nil || len(file) == 0 {
		return err
	}
	may, err := s.modifiable(ctx, file)
	if err != nil {
		return err
	}
	settings, fixed := map[string]string{}, []session.Setting{}
	for _, f := range file {
		if _, said := own[f.Key]; may[f.Key] && !said {
			settings[f.Key] = f.Value
		} else if !may[f.Key] {
			fixed = append(fixed, f)
		}
	}
	if len(settings) > 0 {
		if err := s.set(ctx, settings); err != nil {
			return fmt.Errorf("%w; it stands in the file of settings: %s", err, placesOf(file, settings))
		}
	}
	return s.compare(ctx, fixed)
}

// placesOf says where in the file settings stand.
func placesOf(file []session.Setting, settings map[string]string) string {
	var places []string
	for _, f := range file {
		if _, is := settings[f.Key]; is {
			places = append(places, f.From)
		}
	}
	return strings.Join(places, ", ")
}

// modifiable tells which settings a session can have. Spark answers for its own (spark.sql.…, of which some are the server's); of RAPIDS's it knows
// nothing, and takes them: those of SQL are read for each query.
func (s *Session) modifiable(ctx context.Context, file []session.Setting) (map[string]bool, error) {
	ask := &protocol.ConfigRequest_Get{}
	may := map[string]bool{}
	for _, f := range file {
		switch {
		case strings.HasPrefix(f.Key, "spark.rapids.sql."):
			may[f.Key] = f.Key != conf.ConcurrentTasks // which the plugin reads when it starts
		case strings.HasPrefix(f.Key, "spark.sql."):
			ask.Keys = append(ask.Keys, f.Key)
		}
	}
	if len(ask.Keys) == 0 {
		return may, nil
	}
	r, err := s.configure(ctx, &protocol.ConfigRequest_Operation{Of: &protocol.ConfigRequest_Operation_IsModifiable{IsModifiable: ask}})
	if err != nil {
		return nil, fmt.Errorf("spark: which settings a session can have: %w", err)
	}
	for _, p := range r.Pairs {
		may[p.Key] = p.GetValue() == "true"
	}
	return may, nil
}

// compare notes which settings the server was started with otherwise.
func (s *Session) compare(ctx context.Context, fixed []session.Setting) error {
	if len(fixed) == 0 {
		return nil
	}
	r, err := s.configure(ctx, &protocol.ConfigRequest_Operation{Of: &protocol.ConfigRequest_Operation_GetOption{
		GetOption: &protocol.ConfigRequest_Get{Keys: keysOf(fixed)}}})
	if err != nil {
		return fmt.Errorf("spark: the server's settings: %w", err)
	}
	there := map[string]*string{}
	for _, p := range r.Pairs {
		there[p.Key] = p.Value
	}
	var differ []string
	for _, f := range fixed {
		if has := there[f.Key]; has == nil || !alike(*has, f.Value) {
			differ = append(differ, beside(f, has))
		}
	}
	if len(differ) > 0 {
		note := "Only the server's start can set what " + fixed[0].From + " and others of that file say, and it was started otherwise: "
		s.notes = append(s.notes, note+strings.Join(differ, "; ")+".")
		s.config.Logger.Warn("spark: " + s.notes[len(s.notes)-1])
	}
	return nil
}

func keysOf(settings []session.Setting) (keys []string) {
	for _, f := range settings {
		keys = append(keys, f.Key)
	}
	return keys
}

// beside is a setting of the file with that of the server.
func beside(f session.Setting, there *string) string {
	hidden := secret.MatchString(f.Key) || secret.MatchString(f.Value) || there != nil && secret.MatchString(*there)
	switch {
	case hidden && there == nil:
		return f.Key + " (not set there)"
	case hidden:
		return f.Key + " (another there)"
	case there == nil:
		return fmt.Sprintf("%s %s (not set there)", f.Key, f.Value)
	}
	return fmt.Sprintf("%s %s (%s there)", f.Key, f.Value, *there)
}

// alike tells whether two values are the same to Spark: 4g is 4096m.
func alike(a, b string) bool {
	x, errX := conf.Bytes(a, 1<<20)
	y, errY := conf.Bytes(b, 1<<20)
	return strings.EqualFold(a, b) || errX == nil && errY == nil && x == y
}

// Notes are sentences that the session's user should read: such as what the file of settings (spark-defaults.conf) says and the server was started
// otherwise with.
func (s *Session) Notes() []string { return slices.Clone(s.notes) }
