// Package docs carries the documents that the program ships inside itself.
package docs

import _ "embed"

// ExperimentSchema is the JSON Schema (draft 2020-12) of an experiment.
//
//go:embed experiment.schema.json
var ExperimentSchema []byte
