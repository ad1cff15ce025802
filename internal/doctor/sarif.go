package doctor

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

// The parts of SARIF 2.1.0 that a report needs. The names of the fields are the
// standard's.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool                `json:"tool"`
		Bases       map[string]sarifArtifact `json:"originalUriBaseIds,omitempty"`
		Invocations []sarifInvocation        `json:"invocations"`
		Results     []sarifResult            `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string       `json:"id"`
		About   sarifText    `json:"shortDescription"`
		Help    sarifText    `json:"help"`
		Default sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level skill.Severity `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful bool `json:"executionSuccessful"`
	}
	sarifResult struct {
		RuleID     string            `json:"ruleId"`
		RuleIndex  int               `json:"ruleIndex"`
		Level      skill.Severity    `json:"level"` // SARIF has the same words
		Message    sarifText         `json:"message"`
		Locations  []sarifLocation   `json:"locations"`
		Properties map[string]string `json:"properties,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

// sourceRoot is the usual name of the folder that URIs are relative to.
const sourceRoot = "SRCROOT"

// SARIF returns the report as a value whose JSON has the format SARIF 2.1.0, which
// services for code scanning read. Paths below the folder base are relative to it; "" means that none is. version is
// the version of the program.
func (r *Report) SARIF(base, version string) any {
	run := sarifRun{Invocations: []sarifInvocation{{true}}, Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "skills doctor", Version: version, InformationURI: "https://github.com/repertoire-skills/repertoire"}
	if base != "" {
		run.Bases = map[string]sarifArtifact{sourceRoot: {URI: fileURI(strings.TrimRight(filepath.ToSlash(base), "/") + "/")}}
	}
	index := make(map[string]int) // rule → index
	add := func(rule Rule) {
		index[rule.ID] = len(run.Tool.Driver.Rules)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule.ID, sarifText{rule.About}, sarifText{rule.Fix}, sarifDefault{rule.Severity}})
	}
	for _, rule := range rules {
		add(rule)
	}
	for _, f := range r.Findings {
		if _, ok := index[f.Rule]; !ok {
			add(ruleOf(f.Rule))
		}
		run.Results = append(run.Results, f.sarif(index[f.Rule], base))
	}
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

// sarif returns the finding as a result of SARIF.
func (f Finding) sarif(index int, base string) sarifResult {
	result := sarifResult{RuleID: f.Rule, RuleIndex: index, Level: f.Severity, Message: sarifText{f.text()}, Properties: make(map[string]string)}
	for key, value := range map[string]string{"source": f.Source, "skill": f.Skill, "cost": string(f.Cost)} {
		if value != "" {
			result.Properties[key] = value
		}
	}
	var at sarifLocation
	if filepath.IsAbs(f.Path) {
		at.Physical = &sarifPhysical{Artifact: artifact(f.Path, base)}
		if f.Line > 0 {
			at.Physical.Region = &sarifRegion{f.Line}
		}
	} else { // in an embedded source, or no file at all
		at.Logical = []sarifLogical{{tidy.Visible(f.Path)}}
	}
	result.Locations = []sarifLocation{at}
	return result
}

// text returns the message with the hint on one line.
func (f Finding) text() string {
	if f.Hint != "" {
		return tidy.Line(f.Message) + " (" + tidy.Line(f.Hint) + ")"
	}
	return tidy.Line(f.Message)
}

// artifact returns where a file is: relative to base if it is below it.
func artifact(path, base string) sarifArtifact {
	if rel, ok := regular.Rel(base, path); ok {
		u := url.URL{Path: filepath.ToSlash(rel)}
		return sarifArtifact{u.String(), sourceRoot}
	}
	return sarifArtifact{URI: fileURI(path)}
}

// fileURI returns the URI of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	u := url.URL{Scheme: "file", Path: path}
	return u.String()
}
