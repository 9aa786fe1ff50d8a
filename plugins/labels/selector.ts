// Label selectors in the syntax of Kubernetes: env=prod,tier!=db,!old,zone in (a,b).
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { keyProblem, valueProblem } from './labels.ts'

export const invalidSelector = defineCode('validation.selector', 400, 3)

export const parameter = 'selector'
export const maxLength = 4096
const maxTerms = 32
const maxValues = 256 // of all terms together

/** Without values: tests whether the label exists. */
export interface Term {
  readonly key: string
  readonly isNegated: boolean // also matches records without the label
  readonly values: readonly string[] | null
}

/** Parses a selector. Throws `validation.selector` with the position, from 1. */
export function parseSelector(text: string): Term[] {
  if (text.length > maxLength) throw refusal(maxLength + 1, `a selector has at most ${maxLength} characters`)
  const reader = new Reader(text)
  const terms: Term[] = []
  do {
    terms.push(readTerm(reader))
    if (terms.length > maxTerms) reader.refuse(`a selector has at most ${maxTerms} terms`)
  } while (reader.take(','))
  if (!reader.isAtEnd()) reader.refuse('expected the end of the term; put a comma before the next term')
  const values = terms.reduce((sum, term) => sum + (term.values?.length ?? 0), 0)
  if (values > maxValues) reader.refuse(`a selector has at most ${maxValues} values`)
  return terms
}

function readTerm(reader: Reader): Term {
  const isAbsent = reader.take('!')
  const key = reader.word('a key such as env=prod', keyProblem)
  if (isAbsent) return { key, isNegated: true, values: null }
  for (const operator of ['==', '!=', '='])
    if (reader.take(operator)) return { key, isNegated: operator === '!=', values: [reader.value()] }
  if (reader.takeWord('in')) return { key, isNegated: false, values: readSet(reader) }
  if (reader.takeWord('notin')) return { key, isNegated: true, values: readSet(reader) }
  return { key, isNegated: false, values: null }
}

function readSet(reader: Reader): string[] {
  if (!reader.take('(')) reader.refuse('in and notin need values in parentheses, for example (a,b)')
  const values: string[] = []
  do values.push(reader.word('a value', valueProblem))
  while (reader.take(','))
  if (!reader.take(')')) reader.refuse('close the values with )')
  return [...new Set(values)]
}

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  isAtEnd(): boolean {
    this.#skipSpaces()
    return this.#at === this.#text.length
  }

  /** Skips spaces, then the text if it comes next; returns true if it did. */
  take(text: string): boolean {
    this.#skipSpaces()
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  takeWord(word: string): boolean {
    this.#skipSpaces()
    if (this.#peek() !== word) return false
    this.#at += word.length
    return true
  }

  /** Reads a value, which may be empty. */
  value(): string {
    this.#skipSpaces()
    return this.#peek() === '' ? '' : this.word('a value', valueProblem)
  }

  /** Reads a word. Throws if it is missing or has a problem. */
  word(what: string, problemOf: (word: string) => string | null): string {
    this.#skipSpaces()
    const word = this.#peek()
    if (word === '') this.refuse(`${what} is missing`)
    const problem = problemOf(word)
    if (problem !== null) this.refuse(`${word.slice(0, 64)} is invalid: ${problem}`)
    this.#at += word.length
    return word
  }

  refuse(why: string): never {
    throw refusal(this.#at + 1, why)
  }

  #skipSpaces(): void {
    while (this.#text[this.#at] === ' ') this.#at++
  }

  /** Returns the text before the next space or sign. */
  #peek(): string {
    const word = /[^ ,=!()]*/y
    word.lastIndex = this.#at
    return word.exec(this.#text)?.[0] ?? ''
  }
}

const refusal = (position: number, why: string): Fault =>
  new Fault(invalidSelector, `/${parameter} at position ${position}: ${why}`, {
    details: { field: `/${parameter}`, reason: 'syntax', position }
  })
