package web

import "cmp"

// termName says what a term of package rank means.
func termName(term string) string {
	return cmp.Or(map[string]string{
		"base":              "where every prompt starts",
		"nearness":          "near in meaning to a skill",
		"sentence nearness": "near in meaning as a whole sentence",
		"strength":          "rare words that a skill has",
		"coverage":          "covered by the best skill",
		"head":              "share of the skill's own words in the prompt",
		"trigger":           "has a trigger of the skill",
		"request":           "asks for a task",
		"size":              "size of the catalog",

		"text":               "words of the text",
		"description vector": "meaning of the description",
		"full vector":        "meaning of the text",
		"example":            "near to what people say when they want it",
		"sentence vector":    "meaning as a whole sentence",
		"name":               "words of the name",
		"certain trigger":    "has a certain trigger",
		"exact name":         "names the skill",
		"mention":            "mentions the skill",
		"trusted less":       "its source is trusted less",
		"rarely read":        "is offered often and rarely read",
	}[term], term)
}
