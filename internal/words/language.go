package words

import (
	"strings"
	"sync"
	"unicode"
)

// SameLanguage reports whether a text may be in the language of another one, by their function words and scripts. A text
// without any may be in all languages.
func SameLanguage(text, other string) bool {
	of, in := functionWordsOf(text), functionWordsOf(other)
	best := 0
	for i, n := range in {
		if n > in[best] {
			best = i
		}
	}
	for _, n := range of {
		if n > of[best] {
			return false
		}
	}
	return isLatin(text) == isLatin(other)
}

// isLatin reports whether at least half of the letters of a text are Latin.
func isLatin(text string) bool {
	latin := 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Latin, r):
			latin++
		case unicode.IsLetter(r):
			latin--
		}
	}
	return latin >= 0
}

// functionWordsOf returns how many words of a text are function words of English, and of each of functionWords.
func functionWordsOf(text string) (n [1 + len(functionWords)]int) {
	Split(text, func(word string, kind Kind) {
		word = strings.ToLower(word)
		if stopWords()[word] {
			n[0]++
		}
		for i, set := range functionSets() {
			if set[word] {
				n[1+i]++
			}
		}
	})
	return n
}

// functionWords are the commonest words of German, French, Spanish, Portuguese, Italian, Dutch, Polish and Turkish that
// say nothing about a task. Some are words of English, too.
var functionWords = [...]string{
	`der die das den dem des ein eine einen einem einer und oder aber nicht ist sind war was wie wo wenn dass mit von für
		auf aus bei nach zu zum zur im in an am um als auch noch nur so ich du er sie es wir ihr mir mich dir mein meine meinen meiner unser
		unsere unseren diese dieser dieses bitte kannst kann soll will hat habe haben wird`,
	`le la les un une des du de et ou mais ne pas est sont dans en sur pour par avec sans que qui ce cet cette ces je tu il
		elle nous vous mon ma mes notre nos au aux à se son sa ses peux fais faire s'il`,
	`el la los las un una unos unas y o pero no es son en de del al para por con sin que qué este esta estos me mi mis
		nuestro nuestra su sus se lo le cómo como hay puedes quiero`,
	`o a os as um uma e ou mas não é são em no na nos nas de do da dos das para por com sem que este esta isto me meu minha
		nosso nossa se como ao à pode quero`,
	`il lo la i gli le un uno una e o ma non è sono in di del della dei delle a al alla da dal per con senza che questo
		questa mi mio mia nostro nostra si come puoi voglio`,
	`de het een en of maar niet is zijn in op van voor met zonder naar aan uit bij dat die dit deze ik je jij we mijn ons
		onze te om als kun kan wil wordt er`,
	`i w z na do nie się jest są to ten ta te że dla od przez po o jak czy mój moja nasz nasza mi proszę oraz ale lub`,
	`ve bir bu şu için ile da de mi mı ne nasıl değil var yok olarak gibi benim bizim bana`,
}

// functionSets returns them as sets. A start of the program costs nothing.
var functionSets = sync.OnceValue(func() (sets [len(functionWords)]map[string]bool) {
	for i, list := range functionWords {
		sets[i] = Set(list)()
	}
	return sets
})

// functionLanguages are the codes of the languages of functionWords.
var functionLanguages = [len(functionWords)]string{"de", "fr", "es", "pt", "it", "nl", "pl", "tr"}

// IsFunctionWord reports whether a word in lower case is a function word of the language with a code such as "de", or of any
// language but English for "".
func IsFunctionWord(language, word string) bool {
	if language == "" {
		return isFunctionWord(word)
	}
	for i, code := range functionLanguages {
		if code == language {
			return functionSets()[i][word]
		}
	}
	return false
}

// isFunctionWord reports whether a word in lower case is a function word of a language other than English.
func isFunctionWord(word string) bool {
	for _, set := range functionSets() {
		if set[word] {
			return true
		}
	}
	return false
}
