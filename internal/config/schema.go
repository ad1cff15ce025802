package config

import "maps"

// A schema is a JSON Schema, draft 2020-12.
type schema map[string]any

// Schema returns the JSON Schema of the configuration file of a user or, if project is
// true, of a project. It has exactly the keys that are read.
func Schema(project bool) map[string]any {
	p := &parser{user: !project, settings: new(Settings)}
	top := objectSchema(p.keys())
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "Configuration of Repertoire"
	if project {
		top["title"] = "Configuration of a project for Repertoire"
	}
	return top
}

// objectSchema describes a mapping with these keys.
func objectSchema(known keys) schema {
	properties := make(schema)
	for name, v := range known {
		s := maps.Clone(v.schema())
		if v.about != "" {
			s["description"] = v.about
		}
		if v.standard != nil {
			s["default"] = v.standard
		}
		properties[name] = s
	}
	return schema{"type": "object", "properties": properties, "additionalProperties": false}
}

// required returns the schema of a mapping that needs these keys.
func (s schema) required(names ...string) schema {
	s["required"] = names
	return s
}

func anyOf(list ...schema) schema { return schema{"anyOf": list} }

func arrayOf(items schema) schema { return schema{"type": "array", "items": items} }

// mapOf describes a mapping whose keys are names.
func mapOf(values schema) schema {
	return schema{"type": "object", "additionalProperties": values, "propertyNames": schema{"minLength": 1}}
}

// textSchema describes a text. YAML takes an unquoted 1.10 or true for something else, but
// the parser reads it as it is written.
func textSchema() schema { return schema{"type": []string{"string", "number", "boolean"}} }

func pathSchema() schema { return schema{"type": "string", "minLength": 1} }

func booleanSchema() schema { return schema{"enum": []any{true, false, "true", "false"}} }

func listSchema() schema { return anyOf(textSchema(), arrayOf(textSchema())) }

func enumSchema(of []string) schema { return schema{"enum": of} }
