package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"refrain/internal/units"
	"refrain/server"
)

const envPrefix = "REFRAIN_"

// ignored are variables with our prefix that are no configuration: what clients, the tests and deploy/dev read.
func ignored(name string) bool {
	return name == "REFRAIN_TOKEN" || name == "REFRAIN_DATA" || name == "REFRAIN_DEV" || name == "REFRAIN_BEFORE" ||
		name == "REFRAIN_PROGRESS" ||
		strings.HasPrefix(name, "REFRAIN_TEST_")
}

// readEnvironment sets what REFRAIN_* says: REFRAIN_WINDOW_SPAN=7d is window.span. A list of words is written with commas
// between; other lists are for the file only.
func readEnvironment(c *server.Config, environ []string) error {
	fields := map[string]reflect.Value{}
	collect(fields, strings.TrimSuffix(envPrefix, "_"), reflect.ValueOf(c).Elem())
	var errs []error
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, envPrefix) || ignored(name) {
			continue
		}
		field, ok := fields[name]
		if !ok {
			errs = append(errs, fmt.Errorf("environment: %s is no setting of Refrain; a secret that the configuration names "+
				"(env:NAME) needs a name that does not begin with REFRAIN_", name))
			continue
		}
		if err := set(field, value); err != nil {
			errs = append(errs, fmt.Errorf("environment: %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// collect names every scalar below v.
func collect(to map[string]reflect.Value, prefix string, v reflect.Value) {
	for i := range v.NumField() {
		key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if key == "-" {
			continue
		}
		name := prefix + "_" + strings.ToUpper(key)
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			collect(to, name, f)
		case reflect.Slice:
			if f.Type().Elem().Kind() == reflect.String {
				to[name] = f
			}
		default:
			to[name] = f
		}
	}
}

func set(field reflect.Value, value string) error {
	switch to := field.Addr().Interface().(type) {
	case *time.Duration:
		d, err := units.ParseDuration(value)
		*to = d
		return err
	case *server.Bytes:
		b, err := units.ParseBytes(value)
		*to = server.Bytes(b)
		return err
	case *[]string:
		*to = splitWords(value)
		return nil
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(value)
	case reflect.Int:
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%q: want a whole number", value)
		}
		field.SetInt(int64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%q: want a number", value)
		}
		field.SetFloat(x)
	case reflect.Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q: want true or false", value)
		}
		field.SetBool(b)
	}
	return nil
}

func splitWords(list string) (words []string) {
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}
